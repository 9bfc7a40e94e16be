"""What an episode leaves in the sample's store, and what is read back from the log."""

from __future__ import annotations

from typing import Any

import pytest
from inspect_ai.log import EvalSample
from inspect_ai.model import ModelName
from inspect_ai.solver import TaskState

from control_tower.episode.record import (
    STORE_KEY,
    EpisodeRecord,
    TaskResult,
    record_of_sample,
    record_of_state,
)
from control_tower.trajectories.schema import Action


def state() -> TaskState:
    return TaskState(
        model=ModelName("mockllm/model"), sample_id="e/m/-", epoch=1, input="x", messages=[]
    )


def sample(store: dict[str, Any]) -> EvalSample:
    return EvalSample(id="e/m/-", epoch=1, input="x", target="", store=store)


def test_what_was_kept_is_read_back_from_state_and_sample() -> None:
    running = state()
    record = EpisodeRecord(
        provisioned_at=10.0,
        scored_at=20.0,
        scored={"main": TaskResult(success=None, explanation="crashed")},
        caught=True,
        actions=[Action(index=0, function="bash", arguments={"command": "ls"}, output="x")],
    )
    record.keep(running)
    assert record_of_state(running) == record
    finished = sample(dict(running.store.items()))
    assert record_of_sample(EvalSample.model_validate_json(finished.model_dump_json())) == record


def test_a_sample_whose_episode_never_began_has_an_empty_record() -> None:
    assert record_of_state(state()) == EpisodeRecord()
    assert record_of_sample(sample({})) == EpisodeRecord()
    assert EpisodeRecord().provisioned_at is None


def test_keeping_again_replaces() -> None:
    running = state()
    EpisodeRecord(provisioned_at=1.0, caught=True).keep(running)
    EpisodeRecord(provisioned_at=2.0).keep(running)
    assert record_of_state(running) == EpisodeRecord(provisioned_at=2.0)


@pytest.mark.parametrize("raw", ["text", [], {"provisioned_at": "when?"}, {"scored": {"main": 1}}])
def test_a_malformed_record_is_said_to_be_one(raw: Any) -> None:
    with pytest.raises(ValueError, match="the sample's store holds a malformed record"):
        record_of_sample(sample({STORE_KEY: raw}))
