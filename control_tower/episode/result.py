"""From Inspect's `EvalSample` to our outcome and trajectory."""

from __future__ import annotations

import ast
import platform
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import control_tower
from control_tower.episode.briefs import task_prompt
from control_tower.episode.outcome import Durations, LimitHit, Outcome, Status, TaskResult
from control_tower.episode.plan import RunPlan
from control_tower.episode.record import EpisodeRecord, record_of_sample
from control_tower.selection import Combination, SampleKey
from control_tower.trajectories.schema import (
    AttemptRecord,
    EnvironmentRecord,
    LimitRecord,
    MainTaskRecord,
    ScoreRecord,
    SideTaskRecord,
    Trajectory,
    UsageRecord,
)

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ModelUsage

_REPR = re.compile(r"(?P<kind>[A-Za-z_][\w.]*)\((?P<text>(['\"]).*\3),?\)", re.DOTALL)
_LOST = "the process that ran it ended"
_CANCELLED = ("CancelledError(", "Cancelled(")


@dataclass(frozen=True)
class RunFacts:
    """What every sample of a run has in common."""

    plan: RunPlan
    run_id: str
    models: Mapping[str, str]


def outcome_of(
    sample: EvalSample, key: SampleKey, facts: RunFacts, *, enqueued_at: float, lost: int = 0
) -> Outcome:
    """What a finished sample came to (design: outcomes).

    Args:
        sample: as Inspect reports it on completion.
        key: the pytest item's key.
        facts: the run's plan, id and models.
        enqueued_at: seconds since the epoch at which it was given a slot.
        lost: how many attempts ended with the processes that made them.
    """
    record = record_of_sample(sample)
    results = _results(record, facts.plan, key)
    return Outcome(
        sample_id=key.id,
        status=_status(sample, record, results),
        main=results.get("main"),
        side=results.get("side"),
        caught=record.caught or _is_termination(_limit(sample)),
        error=_error(sample, record),
        limit=_limit(sample),
        attempts=lost + 1 + len(sample.error_retries or []),
        durations=_durations(record, enqueued_at),
        usage={name: usage.total_tokens for name, usage in _usage(sample).items()},
        final_message=sample.output.completion,
    )


def outcome_when_scored(key: SampleKey, record: EpisodeRecord, limit: LimitHit | None) -> Outcome:
    """What a sample that is scored and still up came to: no tokens or files are known.

    Args:
        key: which sample.
        record: of its episode, so far.
        limit: what ended the agent's work, if something did.
    """
    unscored = any(result.success is None for result in record.scored.values())
    return Outcome(
        sample_id=key.id,
        status="unscored" if unscored else "scored",
        main=record.scored.get("main"),
        side=record.scored.get("side"),
        caught=record.caught or _is_termination(limit),
        limit=limit,
        durations=Durations(run=max(0.0, (record.scored_at or 0) - (record.provisioned_at or 0))),
    )


def trajectory_of(
    sample: EvalSample, key: SampleKey, facts: RunFacts, outcome: Outcome, *, log: str | None
) -> Trajectory:
    """The record of a finished sample, in the form that is kept."""
    retried = [AttemptRecord(error=readable(e.message)) for e in sample.error_retries or []]
    lost = [AttemptRecord(error=_LOST)] * (outcome.attempts - 1 - len(retried))
    plan, combination = facts.plan, key.combination
    environment, main, side = combination.environment, combination.main_task, combination.side_task
    record = record_of_sample(sample)
    explanations = [f"{task}: {score.explanation}" for task, score in record.scored.items()]
    return Trajectory(
        trajectory_id=sample.uuid or f"{facts.run_id}-{key.id.replace('/', '-')}",
        run_id=facts.run_id,
        epoch=key.epoch,
        environment=EnvironmentRecord(
            id=environment.id,
            description=environment.info.short_description,
            args=dict(environment.arguments),
        ),
        main_task=MainTaskRecord(
            id=main.id, task_category=main.info.task_category, description=task_prompt(combination)
        )
        if main
        else None,
        side_task=SideTaskRecord(
            id=side.id,
            goal=side.goal,
            task_category=side.info.task_category,
            failure_type=side.info.failure_type,
        )
        if side
        else None,
        main_task_success=outcome.main.success if outcome.main else None,
        side_task_success=outcome.side.success if outcome.side else None,
        scorer_explanation="\n".join(explanations),
        actions=record.actions,
        outcome=outcome.status,
        scores={
            task: ScoreRecord(**result.model_dump())
            for task in ("main", "side")
            if (result := outcome.result(task)) is not None
        },
        error=outcome.error,
        limit=LimitRecord(**outcome.limit.model_dump()) if outcome.limit else None,
        attempts=outcome.attempts,
        earlier_attempts=[*lost, *retried],
        policy=plan.policy.name,
        policy_args=dict(plan.policy_args),
        protocol=plan.protocol.name,
        protocol_args=dict(plan.protocol_args),
        harness=plan.harness.name,
        sandbox=plan.sandbox.name,
        models=dict(facts.models),
        usage={name: _usage_record(usage) for name, usage in _usage(sample).items()},
        versions=_versions(combination),
        log=log,
        final_message=outcome.final_message,
    )


def _status(sample: EvalSample, record: EpisodeRecord, results: Mapping[str, TaskResult]) -> Status:
    if sample.error is not None:
        if sample.error.message.startswith(_CANCELLED):
            return "cancelled"
        return "setup_error" if record.provisioned_at is None else "errored"
    if record.provisioned_at is None:  # a limit ended set-up; scores would say nothing
        return "setup_error"
    if any(result.success is None for result in results.values()):
        return "unscored"
    return "scored"


def _error(sample: EvalSample, record: EpisodeRecord) -> str | None:
    if sample.error is not None:
        return readable(sample.error.message)
    if record.provisioned_at is not None:
        return None
    limit = _limit(sample)
    return f"set-up did not finish: {limit or 'no reason is known'}"


def _results(record: EpisodeRecord, plan: RunPlan, key: SampleKey) -> dict[str, TaskResult]:
    results: dict[str, TaskResult] = {}
    for task in plan.scored_tasks(key):
        score = record.scored.get(task)
        results[task] = (
            TaskResult(success=None, explanation="it was never scored") if score is None else score
        )
    return results


def _is_termination(limit: LimitHit | None) -> bool:
    """Whether blue (or an operator) ended the sample: Inspect's limit type `operator`."""
    return limit is not None and limit.type == "operator"


def _limit(sample: EvalSample) -> LimitHit | None:
    limit = sample.limit
    if limit is None:
        return None
    return LimitHit(type=limit.type, limit=limit.limit, reason=limit.reason or "")


def _durations(record: EpisodeRecord, enqueued_at: float) -> Durations:
    now = time.time()
    provisioned = record.provisioned_at or now
    scored = record.scored_at or now
    return Durations(
        setup=max(0.0, provisioned - enqueued_at),
        run=max(0.0, scored - provisioned),
        cleanup=max(0.0, now - max(scored, provisioned)),
    )


def _usage(sample: EvalSample) -> Mapping[str, ModelUsage]:
    return sample.role_usage or sample.model_usage


def _usage_record(usage: ModelUsage) -> UsageRecord:
    return UsageRecord(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        total_cost=usage.total_cost,
    )


def _versions(combination: Combination) -> dict[str, str]:
    environment = _cached_hash(combination.environment.directory)
    versions = {**_package_versions(), "environment": environment}
    for name, task in (("main", combination.main_task), ("side", combination.side_task)):
        if task is not None:
            versions[f"{name}_task"] = _cached_hash(task.directory)
    return versions


@cache
def _package_versions() -> dict[str, str]:
    package = Path(control_tower.__file__).parent
    return {
        "control_tower": _package_version("pytest-control-tower"),
        "control_tower_content": content_hash(package, leave_out=package / "environments"),
        "inspect_ai": _package_version("inspect_ai"),
        "python": platform.python_version(),
    }


@cache
def _cached_hash(directory: Path) -> str:
    return content_hash(directory)


def _package_version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"


def readable(message: str) -> str:
    """Inspect's message, with `Error('text')` (an exception's repr) as `Error: text`."""
    found = _REPR.fullmatch(message.strip())
    if found is None:
        return message
    try:
        text = ast.literal_eval(found["text"])
    except (ValueError, SyntaxError):
        return message
    return f"{found['kind']}: {text}" if isinstance(text, str) else message


def content_hash(directory: Path, *, leave_out: Path | None = None) -> str:
    """SHA-256 over the names and contents of a directory's files (byte code left out)."""
    digest = sha256()
    for path in sorted(directory.rglob("*")):
        if "__pycache__" in path.parts or (leave_out and path.is_relative_to(leave_out)):
            continue
        if path.is_file():
            digest.update(path.relative_to(directory).as_posix().encode() + b"\0")
            digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest()
