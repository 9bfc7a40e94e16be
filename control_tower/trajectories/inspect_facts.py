"""What a log's header and the summary of a sample tell, which a list needs and a trajectory too."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from control_tower.trajectories.schema import Trajectory

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample, EvalSampleSummary
    from inspect_ai.scorer import Score

Task = Literal["main", "side"]
SCORERS: Mapping[Task, str] = {"main": "main_task", "side": "side_task"}
"""Names of our scorers, and of the tasks in a sample's metadata."""
_PARTS = {
    "policy": "untrusted_policy",
    "protocol": "protocol",
    "harness": "harness",
    "sandbox": "sandbox",
}
"""Names in the metadata of a log, by ours."""
_OUTCOMES = get_args(Trajectory.model_fields["outcome"].annotation)
_VERDICTS = {"C": True, "I": False}
_CANCELLED = ("CancelledError(", "Cancelled(")


def is_ours(header: EvalLog) -> bool:
    """Whether a log is of one of our runs, or an export of such."""
    return set(_PARTS.values()) <= (header.eval.metadata or {}).keys()


def environment_of(header: EvalLog, metadata: Mapping[str, Any]) -> str:
    """The environment's id; of a foreign log, the task's name."""
    return _text(metadata.get("environment")) or header.eval.task


def task_of(metadata: Mapping[str, Any], task: Task) -> str | None:
    """The id of a sample's main or side task, if it has one."""
    return _text(metadata.get(SCORERS[task]))


def run_id_of(header: EvalLog, metadata: Mapping[str, Any]) -> str:
    """The run's id; of a foreign log, Inspect's."""
    return _text(metadata.get("run_id")) or header.eval.run_id


def run_name_of_log(header: EvalLog, metadata: Mapping[str, Any]) -> str:
    """What the run was called; empty if nothing."""
    for found in (metadata, header.eval.metadata or {}):
        if name := _text(found.get("run_name")):
            return name
    return ""


def trajectory_id_of(sample: EvalSample | EvalSampleSummary) -> str:
    """The sample's unique id; old logs have none."""
    return sample.uuid or f"{sample.id}@{sample.epoch}"


def sample_id_of_log(sample: EvalSample | EvalSampleSummary) -> str:
    """The sample's id, with `@2` for epoch 2."""
    return f"{sample.id}" if sample.epoch == 1 else f"{sample.id}@{sample.epoch}"


def parts_of(header: EvalLog, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Names of policy, protocol, harness and sandbox: the sample's, in an export, or the run's."""
    metadata = {**(header.eval.metadata or {}), **metadata} if is_ours(header) else {}
    return {ours: _text(metadata.get(name)) or "" for ours, name in _PARTS.items()}


def successes_of(scores: Mapping[str, Score] | None) -> dict[Task, bool | None]:
    """By `main` and `side`, from our scorers' values; None is unscored."""
    found: dict[Task, bool | None] = {}
    for task, name in SCORERS.items():
        if scores and name in scores:
            value = scores[name].value
            found[task] = _VERDICTS.get(value) if isinstance(value, str) else None
    return found


def outcome_of(
    metadata: Mapping[str, Any],
    error: str | None,
    successes: Mapping[Task, bool | None],
    scores: Mapping[str, Score] | None,
) -> Any:
    """The outcome: as an export says, or as far as error and scores tell."""
    if metadata.get("outcome") in _OUTCOMES:
        return metadata["outcome"]
    if error is not None:
        return "cancelled" if error.startswith(_CANCELLED) else "errored"
    if not scores and not successes:
        return "unscored"
    return "unscored" if any(success is None for success in successes.values()) else "scored"


def seconds(moment: str | datetime | None) -> float | None:
    """A moment of a log in seconds since 1970."""
    if moment is None or isinstance(moment, datetime):
        return moment.timestamp() if moment else None
    try:
        return datetime.fromisoformat(moment).timestamp()
    except (ValueError, OverflowError):
        return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
