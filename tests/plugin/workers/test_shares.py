"""Dividing items and slots among workers."""

from __future__ import annotations

import pytest

from pytest_control_tower.workers.shares import groups_of, share_of, slots_of

CONTROL = [f"control::test_sample[mini/{name}/-]" for name in "abcde"]
MINE = [f"test_mine.py::test_it[file.txt-mini/{name}/-]" for name in "abcde"]
SAMPLES = {
    node_id: f"mini/{name}/-"
    for node_ids in (CONTROL, MINE)
    for name, node_id in zip("abcde", node_ids, strict=True)
}


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 8])
def test_every_item_is_dealt_once(workers: int) -> None:
    shares = [share_of(CONTROL, SAMPLES, worker, workers) for worker in range(workers)]
    assert sorted(index for share in shares for index in share) == list(range(5))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_tests_about_one_sample_stay_together() -> None:
    for worker in range(2):
        share = share_of([*CONTROL, *MINE], SAMPLES, worker, 2)
        assert [index + 5 for index in share if index < 5] == [i for i in share if i >= 5]


def test_tests_without_parameters_are_dealt_one_by_one() -> None:
    assert groups_of(["a.py::test_x", "a.py::test_y"], SAMPLES) == [[0], [1]]


@pytest.mark.parametrize(("most", "workers"), [(10, 1), (10, 3), (4, 4), (7, 2)])
def test_all_slots_are_given_and_none_twice(most: int, workers: int) -> None:
    slots = [slots_of(most, worker, workers) for worker in range(workers)]
    assert sum(slots) == most
    assert min(slots) >= 1
