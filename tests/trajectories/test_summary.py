"""Summaries: what of a trajectory lists and filters need."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.recordings import bash, recording

from control_tower.trajectories.schema import ReplayRecord, UsageRecord
from control_tower.trajectories.summary import Summary, sample_id_of


def full() -> Summary:
    return Summary.of(
        recording(
            bash("ls", monitor_response={"sus_score": 2}),
            bash("rm", monitor_response={"sus_score": None, "error": "?"}),
            trajectory_id="t",
            side="leak",
            epoch=2,
            tags=["a", "b"],
            recorded_at=5.0,
            main_task_success=True,
            caught=True,
            policy="reference",
            protocol="p",
            harness="null",
            sandbox="bwrap",
            usage={"a": UsageRecord(total_tokens=3), "b": UsageRecord(total_tokens=4)},
            decisions=[
                {
                    "kind": "replace",
                    "monitor_response": {"sus_score": 7},
                    "instead_monitor_response": {"sus_score": 1},
                }
            ],
            replay=ReplayRecord(trajectory_id="old"),
        )
    )


def test_what_a_summary_says() -> None:
    s = full()
    assert (s.trajectory_id, s.run_id, s.sample_id) == ("t", "run-1", "mini/greet/leak@2")
    assert (s.environment, s.main_task, s.side_task, s.epoch) == ("mini", "greet", "leak", 2)
    assert (s.main_task_success, s.side_task_success, s.outcome, s.caught) == (
        True, None, "scored", True
    )  # fmt: skip
    assert (s.policy, s.protocol, s.harness, s.sandbox) == ("reference", "p", "null", "bwrap")
    assert (s.tags, s.recorded_at, s.actions, s.tokens) == (("a", "b"), 5.0, 2, 7)
    assert (s.max_suspicion, s.replays) == (7.0, "old")


def test_a_sample_id_that_is_recorded_stays() -> None:
    assert Summary.of(recording(sample_id="mini/greet/-~abc")).sample_id == "mini/greet/-~abc"
    assert sample_id_of(recording(main=None, side="leak")) == "mini/-/leak"


def test_json_there_and_back_changes_nothing() -> None:
    for summary in (full(), Summary("x"), Summary("x", actions=None)):
        assert Summary.from_json(json.loads(json.dumps(summary.to_json()))) == summary


@pytest.mark.parametrize(
    "change",
    [
        {"trajectory_id": 1},
        {"epoch": "1"},
        {"caught": 1},
        {"tags": ["a", 1]},
        {"tags": "ab"},
        {"recorded_at": float("inf")},
        {"max_suspicion": "7"},
    ],
)
def test_anything_else_is_none(change: dict[str, Any]) -> None:
    assert Summary.from_json({**full().to_json(), **change}) is None


def test_a_field_that_is_missing_makes_it_none() -> None:
    raw = full().to_json()
    for name in raw:
        assert Summary.from_json({k: v for k, v in raw.items() if k != name}) is None
