"""Combinations from a task set."""

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


@pytest.mark.parametrize("name", ["x" * 300, "~nobody-of-this-name/t.json"])
def test_a_path_that_cannot_be_is_one_line(refusal: Refusal, name: str) -> None:
    assert f"'{name}'" in refusal(task_file=name)


def test_an_empty_name_is_no_way_to_leave_it_out(refusal: Refusal) -> None:
    message = refusal(env=("shop",), just_main_tasks=True, task_file="")
    assert message.endswith("'' names nothing; give a name or a path")
