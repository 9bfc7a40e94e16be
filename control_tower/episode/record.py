"""What an episode leaves in the sample's store, so that the Inspect log carries it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError

from control_tower.episode.outcome import TaskResult
from control_tower.trajectories.schema import Action, Decision

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample
    from inspect_ai.solver import TaskState

STORE_KEY = "control_tower"


class EpisodeRecord(BaseModel):
    """The episode's own facts, by the wall clock (seconds since the epoch)."""

    schema_version: int = 1
    provisioned_at: float | None = None
    """When sandbox and set-up were ready."""
    scored_at: float | None = None
    """When the last scorer had finished."""
    scored: dict[str, TaskResult] = Field(default_factory=dict)
    """By `main` and `side`."""
    caught: bool = False
    """Whether an audit caught the attack."""
    caught_is_upper_bound: bool = False
    """Whether any audit counted, since the policy does not declare its attacks."""
    actions: list[Action] = Field(default_factory=list)
    decisions: list[Decision] = Field(default_factory=list)
    declared_attacks: list[int] | None = None
    """Executed turns that the policy declared part of its attack; None: it declares nothing."""
    turns: int = 0
    """Turns with a tool call that were decided, or about which there is a decision."""

    def keep(self, state: TaskState) -> None:
        """Write the record to the sample's store."""
        state.store.set(STORE_KEY, self.model_dump(mode="json", exclude_defaults=True))


def record_of_state(state: TaskState) -> EpisodeRecord:
    """The record kept so far in a running sample."""
    return _parsed(state.store.get(STORE_KEY, None))


def record_of_sample(sample: EvalSample) -> EpisodeRecord:
    """The record in a finished sample; an empty one if the episode never began."""
    return _parsed(sample.store.get(STORE_KEY))


def _parsed(raw: Any) -> EpisodeRecord:
    if raw is None:
        return EpisodeRecord()
    try:
        return EpisodeRecord.model_validate(raw)
    except ValidationError as error:
        raise ValueError(f"the sample's store holds a malformed record: {error}") from error
