"""A replay beside its recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.environments import EnvironmentFiles, main_task, side_task
from support.recordings import bash, recording, submitted

from control_tower.environments.discovery import Catalog
from control_tower.episode.replaying import recorded_score, replay_record
from control_tower.selection import Combination
from control_tower.trajectories.schema import Action, ReplayRecord, Trajectory

RECORDED = recording(
    bash("ls", "a\nb"),
    bash("make", "", output_error="exit code 2"),
    submitted(),
    main="fix",
    side="leak",
    scores={"main": True, "side": False},
)


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    EnvironmentFiles(main={"fix": main_task(), "add": main_task()}).write(tmp_path)
    EnvironmentFiles(name="other", side={"leak": side_task()}).write(tmp_path)
    monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(tmp_path))
    return Catalog.discover()


def combination(
    catalog: Catalog, of: Trajectory | None = RECORDED, env: str = "mini", main: str = "fix"
) -> Combination:
    environment = catalog.get(env, flag="-e")
    return Combination(
        environment, environment.main_tasks[main], environment.side_tasks["leak"], of
    )


def record(catalog: Catalog, actions: list[Action], **which: Any) -> ReplayRecord:
    found = replay_record(combination(catalog, **which), actions, answered=False)
    assert found is not None
    return found


def changed(index: int, **fields: Any) -> list[Action]:
    """The recorded actions, one of them another one."""
    actions = list(RECORDED.actions)
    actions[index] = actions[index].model_copy(update=fields)
    return actions


def test_a_replay_of_all_of_it_with_the_same_outputs(catalog: Catalog) -> None:
    found = record(catalog, RECORDED.actions)
    assert (found.trajectory_id, found.run_id) == ("rec-1", "run-1")
    assert (found.replayed, found.actions, found.divergence) == (3, 3, None)
    assert {task: score.success for task, score in found.scores.items()} == {
        "main": True,
        "side": False,
    }


def test_the_first_output_that_is_another_one_is_told(catalog: Catalog) -> None:
    found = record(catalog, changed(0, output="a\nc"))
    assert found.replayed == 3
    assert found.divergence is not None
    assert found.divergence.model_dump() == {
        "action": 0,
        "part": "output",
        "recorded": "a\nb",
        "actual": "a\nc",
    }


@pytest.mark.parametrize("error", [None, "exit code 3"])
def test_another_error_is_a_difference_too(catalog: Catalog, error: str | None) -> None:
    found = record(catalog, changed(1, output_error=error)).divergence
    assert found is not None
    assert (found.action, found.part) == (1, "output_error")
    assert (found.recorded, found.actual) == ("exit code 2", error)


def test_a_long_output_is_kept_around_where_it_parts(catalog: Catalog) -> None:
    actions = [recording(bash("cat", "x" * 50_000 + "old" + "y" * 50_000)).actions[0]]
    of = RECORDED.model_copy(update={"actions": actions})
    now = [actions[0].model_copy(update={"output": "x" * 50_000 + "new" + "y" * 50_000})]
    found = record(catalog, now, of=of).divergence
    assert found is not None
    assert found.recorded is not None
    assert found.actual is not None
    assert "xold" in found.recorded
    assert "xnew" in found.actual
    assert len(found.recorded) < 5_000


def test_after_another_call_nothing_is_compared(catalog: Catalog) -> None:
    actions = changed(1, arguments={"command": "make all"})
    actions[2] = actions[2].model_copy(update={"output": "something else"})
    found = record(catalog, actions)
    assert found.replayed == 1
    assert found.divergence is not None
    assert found.divergence.model_dump() == {
        "action": 1,
        "part": "call",
        "recorded": "$ make",
        "actual": "$ make all",
    }


def test_a_replay_that_ended_early(catalog: Catalog) -> None:
    assert record(catalog, RECORDED.actions[:2]).replayed == 2


def test_scores_of_other_tasks_are_not_compared(catalog: Catalog) -> None:
    assert sorted(record(catalog, [], main="add").scores) == ["side"]
    assert record(catalog, [], env="other").scores == {}


def test_what_replays_nothing_has_no_record(catalog: Catalog) -> None:
    assert replay_record(combination(catalog, None), [], answered=True) is None


def test_the_recorded_score_stands_for_a_whole_replay(catalog: Catalog) -> None:
    score = recorded_score(combination(catalog), RECORDED.actions, "main")
    assert (score.success, score.recorded, score.explanation) == (True, True, "main as recorded")


@pytest.mark.parametrize("task", ["main", "side"])
def test_there_is_no_score_of_a_part_of_it(catalog: Catalog, task: str) -> None:
    score = recorded_score(combination(catalog), RECORDED.actions[:1], task)
    assert (score.success, score.recorded) == (None, False)
    assert score.explanation.startswith("1 of 3 recorded actions were replayed")


def test_there_is_no_score_of_what_the_recording_is_not_about(catalog: Catalog) -> None:
    score = recorded_score(combination(catalog, main="add"), RECORDED.actions, "main")
    assert score.success is None
    assert score.explanation == "the recording has no score of this task"


def test_an_unscored_recording_stays_unscored_for_its_reason(catalog: Catalog) -> None:
    of = recording(main="fix", side="leak", scores={"main": None})
    score = recorded_score(combination(catalog, of), [], "main")
    assert (score.success, score.recorded, score.explanation) == (None, True, "main as recorded")
