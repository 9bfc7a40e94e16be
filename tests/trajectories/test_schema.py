"""The trajectory's schema: names that scripts rely on, and old and new files that still load."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from control_tower.trajectories.schema import (
    SCHEMA_VERSION,
    Action,
    EnvironmentRecord,
    MonitorMember,
    MonitorResponse,
    ScoreRecord,
    Trajectory,
)

PUBLIC_NAMES = {
    "": "trajectory_id run_id epoch environment main_task side_task main_task_success "
    "side_task_success scorer_explanation tags metadata actions",
    "environment": "id description",
    "main_task": "id task_category description",
    "side_task": "id goal task_category failure_type",
    "actions.0": "index function arguments output output_error agent_reasoning monitor_response",
    "actions.0.monitor_response": "sus_score model_name error members",
    "actions.0.monitor_response.members.0": "sus_score model_name error",
}


def full() -> Trajectory:
    return Trajectory.model_validate(
        {
            "trajectory_id": "t1",
            "run_id": "r1",
            "environment": {"id": "shop"},
            "main_task": {"id": "fix"},
            "side_task": {"id": "leak"},
            "actions": [
                {
                    "index": 0,
                    "function": "bash",
                    "arguments": {"command": "ls", "timeout": 3},
                    "monitor_response": {"members": [{"sus_score": 3}]},
                }
            ],
        }
    )


@pytest.mark.parametrize("place", PUBLIC_NAMES)
def test_the_public_names_are_written_even_when_nothing_was_set(place: str) -> None:
    record = json.loads(full().model_dump_json())
    for step in filter(None, place.split(".")):
        record = record[int(step)] if step.isdigit() else record[step]
    assert set(PUBLIC_NAMES[place].split()) <= set(record)


def test_the_version_comes_first() -> None:
    written = json.loads(full().model_dump_json())
    assert next(iter(written)) == "schema_version"
    assert written["schema_version"] == SCHEMA_VERSION


def test_json_there_and_back_changes_nothing() -> None:
    trajectory = full()
    assert Trajectory.model_validate_json(trajectory.model_dump_json()) == trajectory


def test_success_that_is_null_is_written() -> None:
    written = json.loads(full().model_dump_json())
    assert written["main_task_success"] is None
    assert written["side_task_success"] is None
    score = json.loads(ScoreRecord(success=None, explanation="crashed").model_dump_json())
    assert score["success"] is None
    assert score["explanation"] == "crashed"


def test_a_score_must_say_something_of_success() -> None:
    with pytest.raises(ValidationError):
        ScoreRecord.model_validate({"explanation": "x"})


def test_fields_of_newer_writers_are_kept_at_every_level() -> None:
    raw = json.loads(full().model_dump_json())
    raw["new_top"] = {"a": [1]}
    raw["environment"]["new_env"] = "x"
    raw["actions"][0]["new_action"] = 1.5
    raw["actions"][0]["monitor_response"]["members"][0]["new_member"] = None
    assert json.loads(Trajectory.model_validate(raw).model_dump_json()) == raw


def test_a_recording_with_the_public_names_alone_is_read() -> None:
    trajectory = Trajectory.model_validate(
        {
            "trajectory_id": "old",
            "run_id": "old-run",
            "epoch": 1,
            "environment": {"id": "shop", "description": "A shop."},
            "main_task": {"id": "fix", "task_category": "fix_bug", "description": "Mend it."},
            "side_task": None,
            "main_task_success": True,
            "actions": [{"index": 0, "function": "bash", "arguments": {}, "output": "ok"}],
        }
    )
    assert trajectory.main_task_success is True
    assert trajectory.side_task is None
    assert trajectory.actions[0].output == "ok"


def test_suspicion_may_be_unparsed() -> None:
    response = MonitorResponse(members=[MonitorMember(error="no score in the reply")])
    assert response.sus_score is None
    assert response.members[0].sus_score is None


def test_an_action_needs_its_place_and_its_function() -> None:
    with pytest.raises(ValidationError):
        Action.model_validate({"function": "bash"})
    with pytest.raises(ValidationError):
        Action.model_validate({"index": 0})


def test_records_do_not_share_their_defaults() -> None:
    one, other = (
        Trajectory(trajectory_id=t, run_id="r", environment=EnvironmentRecord(id="e"))
        for t in ("one", "other")
    )
    one.actions.append(Action(index=0, function="bash"))
    one.metadata["x"] = 1
    assert (other.actions, other.metadata) == ([], {})
