"""The record of a session, and the steps that it makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from control_tower.live.steps import Entry, StepLog, steps_of


def typed(command: str, shell: str = "s1", folder: str = "/app", **more: object) -> Entry:
    return Entry.model_validate(
        {"kind": "shell", "command": command, "shell": shell, "folder": folder, **more}
    )


def test_an_entry_is_there_once_it_is_added(tmp_path: Path) -> None:
    log = StepLog(tmp_path / "steps.jsonl")
    assert log.entries() == []
    log.add(Entry(kind="exec", command="ls", output="a\n", code=2))
    log.add(typed("pwd"))
    assert [(e.command, e.code) for e in StepLog(tmp_path / "steps.jsonl").entries()] == [
        ("ls", 2),
        ("pwd", 0),
    ]


def test_odd_separators_in_an_output_end_no_line(tmp_path: Path) -> None:
    log = StepLog(tmp_path / "steps.jsonl")
    log.add(Entry(kind="exec", command="ls", output="a\u2028b\x85c\x1ed\udcffe"))
    assert [e.output for e in log.entries()] == ["a\u2028b\x85c\x1ed?e"]


@pytest.mark.parametrize("line", ["[]", "7", '{"kind": "odd", "command": "x"}', '{"kind": "exec"}'])
def test_a_line_that_is_no_entry_is_left_out(tmp_path: Path, line: str) -> None:
    log = StepLog(tmp_path / "steps.jsonl")
    (tmp_path / "steps.jsonl").write_text(line + "\n")
    log.add(Entry(kind="exec", command="ls"))
    assert [e.command for e in log.entries()] == ["ls"]


def test_half_a_line_of_a_killed_process_is_left_out(tmp_path: Path) -> None:
    log = StepLog(tmp_path / "steps.jsonl")
    log.add(Entry(kind="exec", command="ls"))
    with (tmp_path / "steps.jsonl").open("ab") as stream:
        stream.write(b'{"version": 1, "kind": "ex\xff')
    assert [e.command for e in log.entries()] == ["ls"]


def test_what_one_shell_did_is_one_step() -> None:
    [step] = steps_of([typed("cd x", output="1\n"), typed("ls", folder="/app/x", output="2\n")],
                      "/app")  # fmt: skip
    assert (step.command, step.output, step.kind) == ("cd x\nls", "1\n2\n", "shell")


def test_a_shell_that_was_interrupted_by_another_step_goes_on_in_its_folder() -> None:
    entries = [
        typed("cd x"),
        Entry(kind="exec", command="date"),
        typed("ls", folder="/app/x y"),
        typed("pwd", shell="s2"),
    ]
    assert [step.command for step in steps_of(entries, "/app")] == [
        "cd x",
        "date",
        "cd '/app/x y'\nls",
        "pwd",
    ]


def test_what_keys_ended_or_stopped_is_not_run_again() -> None:
    entries = [
        typed("tail -f log", code=130),
        typed("a\nb", code=148),
        typed("false", code=1),
        Entry(kind="exec", command="exit 130", code=130),
    ]
    first, second = steps_of(entries, "/app")
    assert first.command.split("\n") == [
        "# ended with Ctrl-C:",
        "# tail -f log",
        "# stopped with Ctrl-Z:",
        "# a",
        "# b",
        "false",
    ]
    assert second.command == "exit 130"


def test_commands_that_failed_are_told() -> None:
    [step] = steps_of([typed("false", code=1), typed("true"), typed("a\nb", code=3)], "/app")
    assert step.failed == ["false (exit code 1)", "a (exit code 3)"]
    assert step.code == 3
    [step] = steps_of([Entry(kind="exec", command="x", error="too long", code=124)], "/app")
    assert step.failed == ["x (too long)"]
