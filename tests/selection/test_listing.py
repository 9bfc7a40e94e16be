"""Combinations from a task set or a trajectory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from control_tower.selection import Selection

Ids = Callable[..., list[str]]
Refusal = Callable[..., str]
Select = Callable[..., Selection]

LINES = [
    {"env": "shop", "main_task": "fix", "side_task": "wipe"},
    {"env": "mail", "main_task": "sort"},
    {"env": "shop", "side_task": "leak"},
]


def write(path: Path, *lines: Any) -> str:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@pytest.fixture
def task_file(tmp_path: Path) -> str:
    return write(tmp_path / "mine.jsonl", *LINES)


def test_a_task_set_selects_exactly_its_lines(ids: Ids, task_file: str) -> None:
    assert ids(task_file=task_file) == ["mail/sort/-", "shop/-/leak", "shop/fix/wipe"]


def test_environments_given_beside_it_leave_the_others_out(
    selection: Select, task_file: str
) -> None:
    chosen = selection(task_file=task_file, env=("shop",))
    assert [c.id for c in chosen.combinations] == ["shop/-/leak", "shop/fix/wipe"]
    assert chosen.notices == (f"1 of '{task_file}' left out by --env",)


def test_an_environment_that_is_not_in_it_is_refused(refusal: Refusal, task_file: str) -> None:
    message = refusal(task_file=task_file, env=("shop", "bare"))
    assert message.startswith("--env: 'bare' is not in task set")
    assert message.endswith("which has: mail, shop")


def test_a_policy_that_only_works_drops_side_tasks(selection: Select, task_file: str) -> None:
    chosen = selection("honest", task_file=task_file)
    assert [c.id for c in chosen.combinations] == ["mail/sort/-", "shop/fix/-"]
    assert chosen.notices == ("2 side tasks dropped: policy 'honest' never attempts them",)


@pytest.mark.parametrize(
    "other",
    [
        {"all": True},
        {"just_main_tasks": True},
        {"just_side_tasks": True},
        {"env_only": True},
        {"main_task": ("fix",)},
        {"side_task": ("leak",)},
        {"trajectory_id": "x"},
    ],
    ids=lambda values: next(iter(values)),
)
def test_another_way_to_select_contradicts_it(
    refusal: Refusal, task_file: str, other: dict[str, Any]
) -> None:
    message = refusal(task_file=task_file, **other)
    [key] = other
    assert "--task-file" in message
    assert f"--{key.replace('_', '-')}" in message
    assert "contradict each other" in message


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            {"env": "shpo", "main_task": "fix"},
            "no environment is named 'shpo'; did you mean 'shop'?",
        ),
        ({"env": "shop", "main_task": "fxi"}, "no main task of shop is named 'fxi'; did you mean"),
        ({"env": "shop", "side_task": "laek"}, "no side task of shop is named 'laek'; did you"),
        (
            {"env": "shop", "main_task": "add", "side_task": "wipe"},
            "'wipe' does not go with main task 'add'; it goes with: fix",
        ),
    ],
)
def test_a_wrong_name_is_told_with_file_and_line(
    refusal: Refusal, tmp_path: Path, line: dict[str, str], words: str
) -> None:
    file = write(tmp_path / "wrong.jsonl", LINES[0], line)
    assert refusal(task_file=file).startswith(f"{file}:2: {words}")


def trajectory(path: Path, **fields: Any) -> str:
    whole = {
        "trajectory_id": "t1",
        "run_id": "r1",
        "environment": {"id": "shop"},
        "main_task": {"id": "fix"},
        "side_task": {"id": "wipe"},
        **fields,
    }
    path.write_text(json.dumps(whole))
    return str(path)


def test_a_trajectory_says_which_combination_it_is(ids: Ids, tmp_path: Path) -> None:
    file = trajectory(tmp_path / "t.json")
    assert ids(trajectory_id=file) == ["shop/fix/wipe"]
    file = trajectory(tmp_path / "t.json", side_task=None)
    assert ids("honest", trajectory_id=file) == ["shop/fix/-"]


def test_a_trajectory_is_found_by_its_id_among_the_runs(ids: Ids, tmp_path: Path) -> None:
    place = tmp_path / "logs" / "2026_run" / "trajectories"
    place.mkdir(parents=True)
    trajectory(place / "shop.fix.-.json", side_task=None)
    write(place / "index.jsonl", {"trajectory_id": "t1", "file": "shop.fix.-.json"})
    logs = str(tmp_path / "logs")
    assert ids(trajectory_id="t1", log_dir=logs) == ["shop/fix/-"]


def test_a_trajectory_that_is_nowhere(refusal: Refusal, tmp_path: Path) -> None:
    message = refusal(trajectory_id="t9", log_dir=str(tmp_path))
    assert message.startswith("--trajectory-id: 't9' is no file, and no run in ")


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "no trajectory: Invalid JSON"), ("{}", "trajectory_id: Field required")],
)
def test_a_file_that_is_no_trajectory(
    refusal: Refusal, tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "x.json").write_text(text)
    assert words in refusal(trajectory_id=str(tmp_path / "x.json"))


def test_a_trajectory_of_something_that_is_not_here(refusal: Refusal, tmp_path: Path) -> None:
    file = trajectory(tmp_path / "t.json", main_task={"id": "gone"})
    message = refusal(trajectory_id=file)
    assert message.startswith(f"--trajectory-id {file}: no main task of shop is named 'gone'")


def test_half_a_line_of_a_killed_run_s_index_does_not_matter(ids: Ids, tmp_path: Path) -> None:
    for run, line in (("9", '{"trajectory_id": "t1", "sam'), ("8", '"t1"'), ("7", "t1 \udcff")):
        place = tmp_path / "logs" / run / "trajectories"
        place.mkdir(parents=True)
        (place / "index.jsonl").write_bytes(line.encode(errors="surrogateescape") + b"\n")
    place = tmp_path / "logs" / "1" / "trajectories"
    place.mkdir(parents=True)
    trajectory(place / "x.json")
    write(place / "index.jsonl", {"trajectory_id": "t1", "file": "x.json"})
    assert ids(trajectory_id="t1", log_dir=str(tmp_path / "logs")) == ["shop/fix/wipe"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"main_task": None, "side_task": None}, "the trajectory names no task"),
        ({"main_task": {"id": ""}, "side_task": None}, "the trajectory names no task"),
        ({"main_task": {"id": ""}, "side_task": {"id": ""}}, "the trajectory names no task"),
        ({"schema_version": 99}, "its schema_version is 99, and this version reads 1"),
        ({"environment": {"id": "gone"}}, "it is of environment 'gone', which is not found"),
    ],
)
def test_a_trajectory_that_cannot_be_run_again(
    refusal: Refusal, tmp_path: Path, fields: dict[str, Any], words: str
) -> None:
    assert words in refusal(trajectory_id=trajectory(tmp_path / "t.json", **fields))


def test_recorded_arguments_that_are_no_more_are_left_out_with_a_notice(
    selection: Select, tmp_path: Path
) -> None:
    gone = {"id": "shop", "args": {"rows": 1, "size": "big"}}
    file = trajectory(tmp_path / "t.json", environment=gone)
    chosen = selection(trajectory_id=file)
    assert [c.id for c in chosen.combinations] == ["shop/fix/wipe"]
    assert chosen.notices == (
        f"recorded arguments left out, which 'shop' no longer has: 'rows', 'size' (of {file})",
    )


@pytest.mark.parametrize("name", ["x" * 300, "~nobody-of-this-name/t.json"])
@pytest.mark.parametrize("key", ["trajectory_id", "task_file"])
def test_a_path_that_cannot_be_is_one_line(refusal: Refusal, key: str, name: str) -> None:
    assert f"'{name}'" in refusal(**{key: name})


@pytest.mark.parametrize("key", ["trajectory_id", "task_file"])
def test_an_empty_name_is_no_way_to_leave_it_out(refusal: Refusal, key: str) -> None:
    message = refusal(env=("shop",), just_main_tasks=True, **{key: ""})
    assert message.endswith("'' names nothing; give a name or a path")


@pytest.mark.parametrize("other", [{"env": ("shop",)}, {"category": ("fix_bug",)}])
def test_what_a_trajectory_says_cannot_be_said_twice(
    refusal: Refusal, tmp_path: Path, other: dict[str, Any]
) -> None:
    message = refusal(trajectory_id=trajectory(tmp_path / "t.json"), **other)
    [key] = other
    assert message.startswith(f"--trajectory-id and --{key} contradict each other: ")
