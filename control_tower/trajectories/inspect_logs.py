"""Recordings in Inspect logs, ours or anybody's, read through Inspect's API and no more than asked.

A list reads the log's header and the summaries of its samples. A trajectory reads one sample,
without its events. Samples of our runs have our record in their store; of others, the actions are
the tool calls in the messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from control_tower.trajectories.reading import UnreadableTrajectory
from control_tower.trajectories.schema import (
    Action,
    Decision,
    EnvironmentRecord,
    LimitRecord,
    MainTaskRecord,
    ScoreRecord,
    SideTaskRecord,
    Trajectory,
    UsageRecord,
)
from control_tower.trajectories.sources import Recording
from control_tower.trajectories.summary import Summary, sample_id_of

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample, EvalSampleSummary
    from inspect_ai.model import ChatMessage, ModelUsage

_STORE = "control_tower"
"""Where a sample's store has the episode's record (`control_tower.episode.record`)."""
_SCORES: Mapping[str, str] = {"main": "main_task", "side": "side_task"}
"""Names of our scorers."""
_UNREAD = {"events", "events_data", "timelines"}
"""Fields of a sample that are by far the largest, and are not needed."""
_CORRECT, _INCORRECT = "C", "I"


def in_log(path: Path) -> list[Recording]:
    """The recordings in an Inspect log, in the log's order; no sample is read.

    Raises:
        UnreadableTrajectory: it is no log, is cut off, or holds no sample.
    """
    from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries

    try:
        header = read_eval_log(path, header_only=True)
        summaries = read_eval_log_sample_summaries(path)
    except Exception as error:  # whatever Inspect makes of a file that is none
        raise UnreadableTrajectory(f"{path}: no Inspect log, or cut off: {_line(error)}") from None
    if not summaries:
        raise UnreadableTrajectory(f"{path}: the Inspect log holds no finished sample")
    return [_recording(path, header, summary) for summary in summaries]


def _recording(path: Path, header: EvalLog, sample: EvalSampleSummary) -> Recording:
    main, side = (_text(sample.metadata.get(f"{task}_task")) for task in _SCORES)
    id = _trajectory_id(sample.uuid, sample.id, sample.epoch)
    about = Trajectory(
        trajectory_id=id,
        run_id=_run_id(header, sample.metadata),
        epoch=sample.epoch,
        environment=EnvironmentRecord(id=_environment(header, sample.metadata)),
        main_task=MainTaskRecord(id=main) if main else None,
        side_task=SideTaskRecord(id=side) if side else None,
    )
    successes = _successes(sample.scores or {})
    summary = Summary(
        trajectory_id=id,
        run_id=about.run_id,
        sample_id=sample_id_of(about) if main or side else _foreign_id(sample),
        epoch=sample.epoch,
        environment=about.environment.id,
        main_task=main,
        side_task=side,
        outcome=_outcome(sample.error, successes),
        main_task_success=successes.get("main"),
        side_task_success=successes.get("side"),
        recorded_at=_seconds(sample.completed_at),
        tokens=sum(usage.total_tokens for usage in sample.model_usage.values()),
        tags=tuple(header.eval.tags or ()),
        **_parts(header, sample.metadata),
    )
    return Recording(f"{path.absolute()}#{id}", summary, partial(_read, path, header, sample))


def _read(path: Path, header: EvalLog, summary: EvalSampleSummary) -> Trajectory:
    from inspect_ai.log import read_eval_log_sample

    try:
        sample = read_eval_log_sample(
            path,
            id=summary.id,
            epoch=summary.epoch,
            resolve_attachments=True,
            exclude_fields=_UNREAD,
        )
        return trajectory_in(sample, header)
    except Exception as error:  # as above
        raise UnreadableTrajectory(
            f"{path}: sample {summary.id} cannot be read: {_line(error)}"
        ) from None


def trajectory_in(sample: EvalSample, header: EvalLog) -> Trajectory:
    """The trajectory of a log's sample.

    Args:
        sample: with its attachments resolved.
        header: of its log.

    Raises:
        pydantic.ValidationError: its store holds a malformed record of ours.
    """
    record: Mapping[str, Any] = sample.store.get(_STORE) or {}
    main, side = (_text(sample.metadata.get(f"{task}_task")) for task in _SCORES)
    successes = _successes({name: score.value for name, score in (sample.scores or {}).items()})
    explanations = {name: score.explanation or "" for name, score in (sample.scores or {}).items()}
    scores = {
        task: ScoreRecord(success=success, explanation=explanations[_SCORES[task]])
        for task, success in successes.items()
    }
    scores |= {
        task: ScoreRecord.model_validate(raw) for task, raw in (record.get("scored") or {}).items()
    }
    found = Trajectory(
        trajectory_id=_trajectory_id(sample.uuid, sample.id, sample.epoch),
        run_id=_run_id(header, sample.metadata),
        epoch=sample.epoch,
        recorded_at=_seconds(sample.completed_at),
        environment=EnvironmentRecord(id=_environment(header, sample.metadata)),
        main_task=MainTaskRecord(id=main, description=_input(sample)) if main else None,
        side_task=SideTaskRecord(id=side) if side else None,
        main_task_success=scores["main"].success if "main" in scores else None,
        side_task_success=scores["side"].success if "side" in scores else None,
        scorer_explanation="\n".join(f"{t}: {s.explanation}" for t, s in scores.items()),
        tags=list(header.eval.tags or ()),
        metadata=_metadata(sample, header, record),
        actions=[Action.model_validate(raw) for raw in record["actions"]]
        if record.get("actions")
        else actions_of(sample.messages),
        decisions=[Decision.model_validate(raw) for raw in record.get("decisions") or ()],
        declared_attacks=record.get("declared_attacks"),
        caught=bool(record.get("caught")),
        caught_is_upper_bound=bool(record.get("caught_is_upper_bound")),
        outcome=_outcome(sample.error, {t: s.success for t, s in scores.items()}),
        scores=scores,
        error=sample.error.message if sample.error else None,
        limit=LimitRecord(type=sample.limit.type, limit=sample.limit.limit)
        if sample.limit
        else None,
        attempts=len(sample.error_retries or ()) + 1,
        models=_models(header),
        usage={name: _usage(usage) for name, usage in _used(sample).items()},
        versions={"inspect_ai": header.eval.packages.get("inspect_ai", "")},
        final_message=sample.output.completion,
        **_parts(header, sample.metadata),
    )
    id = sample_id_of(found) if main or side else _foreign_id(sample)
    return found.model_copy(update={"sample_id": id})


def actions_of(messages: Sequence[ChatMessage]) -> list[Action]:
    """The tool calls of a conversation with their answers; a turn is a message."""
    answers = {m.tool_call_id: m for m in messages if m.role == "tool"}
    actions: list[Action] = []
    turn = 0
    for message in messages:
        if message.role != "assistant":
            continue
        for call in message.tool_calls or []:
            answer = answers.get(call.id)
            error = answer.error.message if answer is not None and answer.error else None
            actions.append(
                Action(
                    index=len(actions),
                    turn=turn,
                    function=call.function,
                    arguments=call.arguments,
                    output=answer.text if answer is not None else "",
                    output_error=error if answer is not None else "The call was not answered.",
                    agent_reasoning=message.text or None,
                )
            )
        turn += 1
    return actions


def _parts(header: EvalLog, of_sample: Mapping[str, Any]) -> dict[str, Any]:
    """Names of the components, in logs of our runs; an exported sample has its own."""
    metadata = {**(header.eval.metadata or {}), **of_sample}
    names = {
        "policy": "untrusted_policy",
        "protocol": "protocol",
        "harness": "harness",
        "sandbox": "sandbox",
    }
    return {ours: _text(metadata.get(name)) or "" for ours, name in names.items()}


def _successes(scores: Mapping[str, Any]) -> dict[str, bool | None]:
    """By `main` and `side`, from our scorers' values; None is unscored."""
    verdicts: dict[Any, bool] = {_CORRECT: True, _INCORRECT: False}
    found: dict[str, bool | None] = {}
    for task, name in _SCORES.items():
        if name in scores:
            value = getattr(scores[name], "value", scores[name])
            found[task] = verdicts.get(value) if isinstance(value, str) else None
    return found


def _outcome(error: object, successes: Mapping[str, bool | None]) -> Any:
    if error is not None:
        return "errored"
    return "unscored" if any(success is None for success in successes.values()) else "scored"


def _metadata(sample: EvalSample, header: EvalLog, record: Mapping[str, Any]) -> dict[str, Any]:
    """What else is known of a sample that is not of one of our runs."""
    if record:
        return {}
    scores = {
        name: {"value": score.value, "explanation": score.explanation}
        for name, score in (sample.scores or {}).items()
    }
    return {"task": header.eval.task, "inspect_scores": scores}


def _environment(header: EvalLog, metadata: Mapping[str, Any]) -> str:
    return _text(metadata.get("environment")) or header.eval.task


def _run_id(header: EvalLog, metadata: Mapping[str, Any]) -> str:
    return _text(metadata.get("run_id")) or header.eval.run_id


def _trajectory_id(uuid: str | None, id: int | str, epoch: int) -> str:
    return uuid or f"{id}@{epoch}"


def _foreign_id(sample: EvalSample | EvalSampleSummary) -> str:
    return f"{sample.id}" if sample.epoch == 1 else f"{sample.id}@{sample.epoch}"


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


def _seconds(moment: str | datetime | None) -> float | None:
    if moment is None:
        return None
    if isinstance(moment, datetime):
        return moment.timestamp()
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _line(error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 300 else text[:300] + " …"
