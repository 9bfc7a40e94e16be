"""From steps to a task's reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from control_tower.errors import UsageProblem
from control_tower.live.references import (
    Script,
    place_of,
    scripts_of,
    warnings_about,
    write_reference,
)
from control_tower.live.session import Session
from control_tower.live.steps import Step


def step(command: str = "ls", **more: Any) -> Step:
    return Step(**{"kind": "exec", "command": command, "output": "", "error": None, "code": 0,
                   "seconds": 1.0, **more})  # fmt: skip


def session(**more: Any) -> Session:
    return Session(name="one", environment="shop", directory="/envs/shop", log_dir="/l", **more)


def test_each_step_is_a_script_in_order() -> None:
    assert scripts_of([step("a"), step("b\n\n", kind="shell"), step("c", kind="copy")]) == [
        Script("01-exec.sh", "a\n"),
        Script("02-shell.sh", "b\n"),
        Script("03-copy.sh", "c\n"),
    ]


def test_a_hundred_steps_stay_in_order() -> None:
    names = [script.name for script in scripts_of([step()] * 100)]
    assert names == sorted(names)
    assert names[0] == "001-exec.sh"


def test_a_step_that_no_script_does_again_is_refused() -> None:
    with pytest.raises(UsageProblem, match=r"^too big; leave that step out with --steps$"):
        scripts_of([step(), step(problem="too big")])


def test_what_failed_or_took_long_is_pointed_out() -> None:
    steps = [step(), step(failed=["make (exit code 2)"]), step(seconds=200.0)]
    assert warnings_about(dict(enumerate(steps, start=4))) == [
        "step 5 failed: make (exit code 2)",
        "step 6: it took 200 s, and a script of a reference may take 180 s",
    ]


@pytest.mark.parametrize(
    ("tasks", "which", "found"),
    [
        ({"main_task": "fix"}, None, ("main", "main_tasks/fix/solution")),
        ({"side_task": "leak"}, None, ("side", "side_tasks/leak/attack")),
        ({"main_task": "fix", "side_task": "leak"}, "side", ("side", "side_tasks/leak/attack")),
    ],
)
def test_where_a_reference_is(tasks: dict[str, str], which: Any, found: tuple[str, str]) -> None:
    task, place = place_of(session(**tasks), which)
    assert (task, place) == (found[0], Path("/envs/shop") / found[1])


@pytest.mark.parametrize(
    ("tasks", "which", "words"),
    [
        ({}, None, "has no task"),
        ({"main_task": "fix", "side_task": "leak"}, None, "choose one with --task main or"),
        ({"main_task": "fix"}, "side", "has no side task"),
    ],
)
def test_a_task_that_is_not_there_or_not_clear(
    tasks: dict[str, str], which: Any, words: str
) -> None:
    with pytest.raises(UsageProblem, match=words):
        place_of(session(**tasks), which)


def test_scripts_that_are_there_are_replaced_only_if_that_is_forced(tmp_path: Path) -> None:
    place = tmp_path / "solution"
    made = write_reference(place, [Script("01-exec.sh", "a\n"), Script("02-exec.sh", "b\n")],
                           force=False)  # fmt: skip
    assert [path.read_text() for path in made] == ["a\n", "b\n"]
    with pytest.raises(UsageProblem, match="has 2 scripts already"):
        write_reference(place, [Script("01-shell.sh", "c\n")], force=False)
    write_reference(place, [Script("01-shell.sh", "c\n")], force=True)
    assert [path.name for path in place.iterdir()] == ["01-shell.sh"]
