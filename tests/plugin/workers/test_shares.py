"""Dividing items and slots among workers."""

from __future__ import annotations

import pytest

from pytest_control_tower.workers.shares import groups_of, samples_by_node_id, share_of, slots_of

SAMPLES = [f"mini/{name}/-" for name in "abcde"]
CONTROL = [f"control::test_sample[mini/{name}/-]" for name in "abcde"]


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 8])
def test_every_item_is_dealt_once(workers: int) -> None:
    shares = [share_of(CONTROL, SAMPLES, worker, workers) for worker in range(workers)]
    assert sorted(index for share in shares for index in share) == list(range(5))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_tests_about_one_sample_stay_together() -> None:
    mine = [f"test_mine.py::test_it[file.txt-mini/{name}/-]" for name in "abcde"]
    for worker in range(2):
        share = share_of([*CONTROL, *mine], SAMPLES, worker, 2)
        assert [index + 5 for index in share if index < 5] == [i for i in share if i >= 5]


def test_tests_without_parameters_are_dealt_one_by_one() -> None:
    assert groups_of(["a.py::test_x", "a.py::test_y"], SAMPLES) == [[0], [1]]


@pytest.mark.parametrize(("most", "workers"), [(10, 1), (10, 3), (4, 4), (7, 2)])
def test_all_slots_are_given_and_none_twice(most: int, workers: int) -> None:
    slots = [slots_of(most, worker, workers) for worker in range(workers)]
    assert sum(slots) == most
    assert min(slots) >= 1


@pytest.mark.parametrize(
    ("parameters", "sample"),
    [
        ("mini/a/-", "mini/a/-"),
        ("mini/a/-@2", "mini/a/-@2"),
        ("mini/a/leak", "mini/a/leak"),
        ("x-mini/a/-@2", "mini/a/-@2"),
        ("mini/a/leak-more-x", "mini/a/leak-more"),
        ("src/a.txt-mini/-/leak-3", "mini/-/leak"),
        ("mini/b/-", None),
        ("src/a.txt", None),
        ("3", None),
    ],
)
def test_the_sample_of_an_item_is_in_its_id(parameters: str, sample: str | None) -> None:
    known = ["mini/a/-", "mini/a/-@2", "mini/a/leak", "mini/a/leak-more", "mini/-/leak"]
    node_id = f"test_mine.py::test_it[{parameters}]"
    found = samples_by_node_id([node_id, "test_mine.py::test_plain"], known)
    assert found == ({node_id: sample} if sample else {})
