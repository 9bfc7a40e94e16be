"""The trajectory of a session."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.environments import EnvironmentFiles

from control_tower.episode.outcome import TaskResult
from control_tower.errors import UsageProblem
from control_tower.live.recording import (
    keep_scores,
    live_recording,
    record,
    trajectory_of_session,
)
from control_tower.live.sessions import STEPS, Session, SessionFolder, Sessions
from control_tower.live.steps import Entry, StepLog
from control_tower.trajectories.reading import read_trajectory

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
    keep_scores(folder, DONE)
    found = trajectory_of_session(folder)
    assert (found.outcome, found.main_task_success) == ("scored", True)
    add(folder, Entry(kind="exec", command="rm -r ."))
    assert trajectory_of_session(folder).scores == {}


def test_it_is_kept_where_the_log_directory_has_runs(folder: SessionFolder) -> None:
    path = record(folder, None)
    assert path.parent.name == "trajectories"
    assert path.name == "mini.fix.leak.json"
    assert read_trajectory(path).trajectory_id == folder.read().id
    assert (path.parent / "index.jsonl").is_file()


def test_it_can_be_asked_for_as_a_file(folder: SessionFolder, tmp_path: Path) -> None:
    assert read_trajectory(live_recording()).actions[0].arguments == {"command": "ls"}
    assert record(folder, tmp_path / "x.json") == tmp_path / "x.json"


def test_an_environment_that_is_gone_is_no_reason_to_lose_it(
    folder: SessionFolder, tmp_path: Path
) -> None:
    (tmp_path / "mini" / "environment.yaml").unlink()
    found = trajectory_of_session(folder)
    assert found.main_task is not None
    assert found.main_task.id == "fix"
    assert len(found.actions) == 2


def test_nothing_done_is_nothing_to_record(folder: SessionFolder) -> None:
    (folder.path / STEPS).unlink()
    with pytest.raises(UsageProblem, match="nothing was done in session 'one' yet"):
        trajectory_of_session(folder)
