"""From samples of Inspect logs to trajectories.

Samples of our runs have our record in their store; of others, the actions are the tool calls in the
messages, and their scores are kept by name in the metadata.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from control_tower.trajectories.inspect_facts import (
    SCORERS,
    Task,
    environment_of,
    is_ours,
    outcome_of,
    parts_of,
    run_id_of,
    run_name_of_log,
    sample_id_of_log,
    seconds,
    successes_of,
    task_of,
    trajectory_id_of,
)
from control_tower.trajectories.inspect_messages import actions_of
from control_tower.trajectories.schema import (
    Action,
    AttemptRecord,
    Decision,
    EnvironmentRecord,
    LimitRecord,
    MainTaskRecord,
    ScoreRecord,
    SideTaskRecord,
    Trajectory,
    UsageRecord,
)

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.model import ModelUsage

STORE = "control_tower"
"""Where a sample's store has the episode's record (`control_tower.episode.record`)."""
EXPORTED = "control_tower_trajectory"
"""Where the store of a sample that we exported has its trajectory, without the actions."""
_ARGUMENTS = "environment_arguments"
_PREFIX = "CT_ARG_"
"""Before the names of arguments in a sample's metadata, where values are texts."""


def trajectory_in(sample: EvalSample, header: EvalLog, *, log: str | None = None) -> Trajectory:
    """The trajectory of a log's sample.

    Args:
        sample: with its attachments resolved.
        header: of its log.
        log: the log's file name.

    Raises:
        pydantic.ValidationError: its store holds a malformed record of ours.
    """
    record = record_of(sample)
    exported = sample.store.get(EXPORTED)
    if isinstance(exported, dict):
        return Trajectory.model_validate({**exported, "actions": record.get("actions") or []})
    scores = _scores(sample, record)
    return Trajectory(
        trajectory_id=trajectory_id_of(sample),
        run_id=run_id_of(header, sample.metadata),
        sample_id=sample_id_of_log(sample),
        epoch=sample.epoch,
        recorded_at=seconds(sample.completed_at),
        environment=EnvironmentRecord(
            id=environment_of(header, sample.metadata), args=_arguments(sample.metadata)
        ),
        **_tasks(sample),
        main_task_success=scores["main"].success if "main" in scores else None,
        side_task_success=scores["side"].success if "side" in scores else None,
        scorer_explanation="\n".join(f"{task}: {s.explanation}" for task, s in scores.items()),
        tags=list(header.eval.tags or ()),
        metadata=_named(sample, header) if record else _metadata(sample, header),
        **_doings(sample, record),
        outcome=_outcome(sample, header, record, scores),
        scores=scores,
        error=sample.error.message if sample.error else None,
        limit=_limit(sample),
        attempts=len(sample.error_retries or ()) + 1,
        earlier_attempts=[AttemptRecord(error=e.message) for e in sample.error_retries or ()],
        models=_models(header),
        usage={name: _usage(usage) for name, usage in _used(sample).items()},
        versions=dict(header.eval.packages),
        log=log,
        final_message=sample.output.completion,
        **parts_of(header, sample.metadata),
    )


def record_of(sample: EvalSample) -> Mapping[str, Any]:
    """Our record in a sample's store; an empty one if it is not of ours, or did not begin."""
    record = sample.store.get(STORE)
    return record if isinstance(record, dict) else {}


def _tasks(sample: EvalSample) -> dict[str, Any]:
    main, side = (task_of(sample.metadata, task) for task in SCORERS)
    return {
        "main_task": MainTaskRecord(id=main, description=_input(sample)) if main else None,
        "side_task": SideTaskRecord(id=side) if side else None,
    }


def _scores(sample: EvalSample, record: Mapping[str, Any]) -> dict[str, ScoreRecord]:
    """By task; what our record says of one is more than the score in the log."""
    scores: dict[str, ScoreRecord] = {
        task: ScoreRecord(
            success=success, explanation=(sample.scores or {})[SCORERS[task]].explanation or ""
        )
        for task, success in successes_of(sample.scores).items()
    }
    recorded = (record.get("scored") or {}).items()
    return scores | {task: ScoreRecord.model_validate(raw) for task, raw in recorded}


def _doings(sample: EvalSample, record: Mapping[str, Any]) -> dict[str, Any]:
    """What was done and decided: of our record, or of the messages."""
    if not record:
        return {"actions": actions_of(sample.messages)}
    return {
        "actions": [Action.model_validate(raw) for raw in record.get("actions") or ()],
        "decisions": [Decision.model_validate(raw) for raw in record.get("decisions") or ()],
        "declared_attacks": record.get("declared_attacks"),
        "caught": bool(record.get("caught")),
        "caught_is_upper_bound": bool(record.get("caught_is_upper_bound")),
    }


def _outcome(
    sample: EvalSample,
    header: EvalLog,
    record: Mapping[str, Any],
    scores: Mapping[str, ScoreRecord],
) -> Any:
    error = sample.error.message if sample.error else None
    successes: dict[Task, bool | None] = {
        task: scores[task].success for task in SCORERS if task in scores
    }
    outcome = outcome_of(sample.metadata, error, successes, sample.scores)
    began = bool(record) or not is_ours(header)
    return "setup_error" if outcome in ("errored", "unscored") and not began else outcome


def _arguments(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The environment's arguments; a log has them as texts, whose types are guessed."""
    found = metadata.get(_ARGUMENTS)
    if not isinstance(found, dict):
        return {}
    return {
        str(key).removeprefix(_PREFIX).lower(): _typed(value) if isinstance(value, str) else value
        for key, value in found.items()
    }


def _typed(text: str) -> bool | int | float | str:
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?[0-9]{1,18}\.[0-9]+", text) else text


def _metadata(sample: EvalSample, header: EvalLog) -> dict[str, Any]:
    """What else is known of a sample that is not of one of our runs."""
    scores = {
        name: {"value": score.value, "explanation": score.explanation}
        for name, score in (sample.scores or {}).items()
    }
    return {"task": header.eval.task, "inspect_scores": scores}


def _named(sample: EvalSample, header: EvalLog) -> dict[str, Any]:
    name = run_name_of_log(header, sample.metadata)
    return {"run_name": name} if name else {}


def _limit(sample: EvalSample) -> LimitRecord | None:
    limit = sample.limit
    if limit is None:
        return None
    return LimitRecord(type=limit.type, limit=limit.limit, reason=limit.reason or "")


def _models(header: EvalLog) -> dict[str, str]:
    roles = header.eval.model_roles or {}
    if roles:
        several = {role: c if isinstance(c, list) else [c] for role, c in roles.items()}
        return {role: ", ".join(c.model for c in configs) for role, configs in several.items()}
    return {"model": header.eval.model} if header.eval.model not in ("", "none/none") else {}


def _used(sample: EvalSample) -> Mapping[str, ModelUsage]:
    return sample.role_usage or sample.model_usage


def _usage(usage: ModelUsage) -> UsageRecord:
    return UsageRecord(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        total_cost=usage.total_cost,
    )


def _input(sample: EvalSample) -> str:
    if isinstance(sample.input, str):
        return sample.input
    return "\n\n".join(message.text for message in sample.input)
