"""What is said of replays at the end of a run."""

from __future__ import annotations

from typing import Any

from control_tower.episode.outcome import Outcome, TaskResult
from control_tower.trajectories.schema import Divergence, ReplayRecord, ScoreRecord
from pytest_control_tower.replays import replay_lines


def outcome(id: str = "e/m/-", now: bool | None = True, **replay: Any) -> Outcome:
    fields = {"scores": {"main": ScoreRecord(success=True)}, "actions": 3, "replayed": 3, **replay}
    return Outcome(
        sample_id=id,
        status="scored",
        main=TaskResult(success=now, recorded=fields.get("answered", False)),
        replay=ReplayRecord(trajectory_id="t", **fields),
    )


def parted(recorded: str | None, actual: str | None, part: str = "output") -> Divergence:
    return Divergence.model_validate(
        {"action": 1, "part": part, "recorded": recorded, "actual": actual}
    )


def test_nothing_is_said_where_nothing_was_replayed() -> None:
    assert replay_lines([Outcome(sample_id="e/m/-", status="scored")]) == []


def test_scores_old_and_new_side_by_side() -> None:
    assert replay_lines([outcome(), outcome("e/longer/-", now=False, replayed=2)]) == [
        "replay      task  recorded  now         actions replayed  outputs",
        "e/m/-       main  success   success     3 of 3            the same",
        "e/longer/-  main  success   no success  2 of 3            the same",
    ]


def test_scores_that_are_recorded_ones_are_marked() -> None:
    [_, row] = replay_lines([outcome(answered=True)])
    assert row.split("  ")[-1] == "recorded ones"
    assert "success (recorded)" in row


def test_where_outputs_part_both_lines_are_shown() -> None:
    lines = replay_lines([outcome(divergence=parted("a\nold\nz", "a\nnew \x1b[1m\nz"))])
    assert lines[1].endswith("differ from step 1 on")
    assert lines[2:] == [
        "e/m/-: the output of step 1 is another one",
        "  recorded: old",
        "  now:      new [1m",
    ]


def test_an_output_that_ended_and_an_error_that_was_not_there() -> None:
    ended = replay_lines([outcome(divergence=parted("a", "a\nmore"))])
    assert ended[-2:] == ["  recorded: (it ends here)", "  now:      more"]
    errors = replay_lines([outcome(divergence=parted(None, "no such file", "output_error"))])
    assert errors[-3:] == [
        "e/m/-: the error of step 1 is another one",
        "  recorded: (none)",
        "  now:      no such file",
    ]


def test_of_many_differences_some_are_shown() -> None:
    many = [outcome(f"e/m{n}/-", divergence=parted("a", "b")) for n in range(25)]
    lines = replay_lines(many)
    assert sum("is another one" in line for line in lines) == 10
    assert lines[-1] == "… (15 more replays whose outputs differ)"


def test_a_task_without_a_recorded_score() -> None:
    [_, row] = replay_lines([outcome(scores={})])
    assert row.split() == ["e/m/-", "main", "-", "success", "3", "of", "3", "the", "same"]


def test_another_call_is_told_as_one() -> None:
    [_, row, *more] = replay_lines(
        [outcome(replayed=1, divergence=parted("$ ls", "$ pwd", "call"))]
    )
    assert row.endswith("1 of 3            the same; another call in step 1")
    assert more == [
        "e/m/-: the call of step 1 is another one",
        "  recorded: $ ls",
        "  now:      $ pwd",
    ]
