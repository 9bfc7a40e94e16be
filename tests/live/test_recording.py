"""The trajectory of a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.environments import EnvironmentFiles

from control_tower.episode.outcome import TaskResult
from control_tower.errors import UsageProblem
from control_tower.live.recording import (
    actions_of,
    done_so_far,
    keep_scores,
    live_recording,
    not_done_again,
    record,
    steps_of_session,
    trajectory_of_session,
)
from control_tower.live.session import STEPS, Session, SessionFolder
from control_tower.live.sessions import Sessions
from control_tower.live.steps import Entry, Step, StepLog
from control_tower.trajectories.index import summaries_in
from control_tower.trajectories.reading import read_trajectory
from control_tower.trajectories.summary import Summary

DONE = {"main": TaskResult(success=True, explanation="fine")}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionFolder:
    """A session whose process is no more, in which two things were done."""
    environment = EnvironmentFiles().write(tmp_path)
    monkeypatch.setenv("CT_STATE_DIR", str(tmp_path / "state"))
    folder = Sessions().make(
        Session(
            name="one",
            environment="mini",
            directory=str(environment),
            main_task="fix",
            side_task="leak",
            sandbox="bwrap",
            log_dir=str(tmp_path / "logs"),
            workspace="/app",
        )
    )
    add(folder, Entry(kind="exec", command="ls", output="README.md\n"))
    add(folder, Entry(kind="exec", command="false", output="[exit code 1]", code=1))
    return folder


def add(folder: SessionFolder, entry: Entry) -> None:
    StepLog(folder.path / STEPS).add(entry)


def test_it_says_what_it_is_of_and_what_was_done(folder: SessionFolder) -> None:
    found = trajectory_of_session(folder)
    assert (found.policy, found.sample_id, found.tags) == ("human", "mini/fix/leak", ["live"])
    assert (found.outcome, found.scores) == ("unscored", {})
    assert [(a.function, a.arguments, a.output) for a in found.actions] == [
        ("bash", {"command": "ls"}, "README.md\n"),
        ("bash", {"command": "false"}, "[exit code 1]"),
    ]
    assert found.main_task is not None
    assert found.main_task.task_category == "fix_bug"


def test_it_has_the_scores_of_what_was_done_and_no_older_ones(folder: SessionFolder) -> None:
    keep_scores(folder, DONE, done=done_so_far(folder))
    found = trajectory_of_session(folder)
    assert (found.outcome, found.main_task_success) == ("scored", True)
    add(folder, Entry(kind="exec", command="rm -r ."))
    assert trajectory_of_session(folder).scores == {}


def test_scores_of_what_was_done_meanwhile_are_none_of_it(folder: SessionFolder) -> None:
    done = done_so_far(folder)
    add(folder, Entry(kind="exec", command="rm -r ."))
    keep_scores(folder, DONE, done=done)
    assert trajectory_of_session(folder).scores == {}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"entries": 2, "scores": {"main": 1}}'])
def test_scores_that_cannot_be_read_are_none(folder: SessionFolder, text: str) -> None:
    (folder.path / "scores.json").write_text(text)
    assert trajectory_of_session(folder).outcome == "unscored"


@pytest.mark.parametrize(
    ("kind", "timeout", "seconds", "allowed"),
    [
        ("exec", None, 100, None),
        ("exec", 600, 1, 600),
        ("shell", None, 60, None),
        ("shell", None, 200.5, 401),
        ("shell", None, 5000, 1200),
    ],
)
def test_what_took_long_is_allowed_as_long_again(
    kind: Any, timeout: int | None, seconds: float, allowed: int | None
) -> None:
    step = Step(kind, "make", "", None, 0, seconds, timeout)
    [action] = actions_of([step])
    assert action.arguments.get("timeout_seconds") == allowed


def test_it_is_kept_where_the_log_directory_has_runs(folder: SessionFolder) -> None:
    path = record(folder, None)
    assert path.parent.name == "trajectories"
    assert path.name == "mini.fix.leak.json"
    assert read_trajectory(path).trajectory_id == folder.read().id
    assert (path.parent / "index.jsonl").is_file()


def test_what_was_kept_before_is_replaced(folder: SessionFolder) -> None:
    before = record(folder, None)
    add(folder, Entry(kind="exec", command="date"))
    assert record(folder, None) == before
    [(path, summary)] = summaries_in(before.parent)
    assert isinstance(summary, Summary)
    assert (path, summary.actions) == (before, 3)


def test_it_can_be_asked_for_as_a_file(folder: SessionFolder, tmp_path: Path) -> None:
    file, environment = live_recording()
    assert read_trajectory(file).actions == trajectory_of_session(folder).actions
    assert environment == folder.read().directory
    with pytest.raises(UsageProblem, match="did you mean 'one'"):
        live_recording("on")
    assert record(folder, tmp_path / "x.json") == tmp_path / "x.json"


def test_an_environment_that_is_gone_is_no_reason_to_lose_it(
    folder: SessionFolder, tmp_path: Path
) -> None:
    (tmp_path / "mini" / "environment.yaml").unlink()
    found = trajectory_of_session(folder)
    assert found.main_task is not None
    assert found.main_task.id == "fix"
    assert len(found.actions) == 2


def test_a_shell_is_answered_as_the_agents_tool_would_answer_its_script(
    folder: SessionFolder,
) -> None:
    for command, output, code in (("false", "", 1), ("cat x", "no x\n", 2)):
        add(folder, Entry(kind="shell", command=command, output=output, code=code, shell="s"))
    add(folder, Entry(kind="copy", command="cat >y"))
    assert [action.output for action in actions_of(steps_of_session(folder))[2:]] == [
        "no x\n[exit code 2]",
        "(no output)",
    ]


def test_nothing_done_is_nothing_to_record(folder: SessionFolder) -> None:
    (folder.path / STEPS).unlink()
    with pytest.raises(UsageProblem, match="nothing was done in session 'one' yet"):
        trajectory_of_session(folder)


def test_what_cannot_be_done_again_is_not_left_out_of_a_replay_unsaid(
    folder: SessionFolder,
) -> None:
    add(folder, Entry(kind="copy", command="# big", problem="copying big is too big for a script"))
    with pytest.raises(UsageProblem, match="copying big is too big for a script, so session 'one'"):
        live_recording()
    assert not_done_again(folder) == ["copying big is too big for a script"]
    assert len(read_trajectory(record(folder, None)).actions) == 3
