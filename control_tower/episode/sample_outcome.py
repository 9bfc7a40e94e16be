"""What a sample came to: from Inspect's `EvalSample`, or from the record of one still up."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from control_tower.episode.attempts import earlier_errors, last_error
from control_tower.episode.blue_result import blue_fields
from control_tower.episode.outcome import Durations, LimitHit, Outcome, Status, TaskResult
from control_tower.episode.plan import RunPlan
from control_tower.episode.record import EpisodeRecord, record_of_sample
from control_tower.episode.replaying import replay_record
from control_tower.episode.run_facts import RunFacts
from control_tower.selection import SampleKey

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ModelUsage

    from control_tower.trajectories.schema import ReplayRecord

_CANCELLED = ("CancelledError(", "Cancelled(")


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
    blue = blue_fields(key, record, _limit(sample))
    # A recording is scored as a whole; cut short because blue caught the attack, it is decided.
    decided = facts.plan.options.replay_sandbox and bool(blue["caught"])
    return Outcome(
        sample_id=key.id,
        status=_status(sample, record, results, decided=decided),
        main=results.get("main"),
        side=results.get("side"),
        **blue,
        replay=_replay(facts.plan, key, record),
        error=_error(sample, record),
        limit=_limit(sample),
        attempts=lost + len(earlier_errors(sample)) + 1,
        durations=_durations(record, enqueued_at),
        usage={name: usage.total_tokens for name, usage in usage_of(sample).items()},
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
        **blue_fields(key, record, limit),
        limit=limit,
        durations=Durations(run=max(0.0, (record.scored_at or 0) - (record.provisioned_at or 0))),
    )


def usage_of(sample: EvalSample) -> Mapping[str, ModelUsage]:
    """Tokens by role; by model where no role is known."""
    return sample.role_usage or sample.model_usage


def _replay(plan: RunPlan, key: SampleKey, record: EpisodeRecord) -> ReplayRecord | None:
    if not plan.replays:
        return None
    answered = plan.options.replay_sandbox
    return replay_record(key.combination, record.actions, answered=answered)


def _status(
    sample: EvalSample,
    record: EpisodeRecord,
    results: Mapping[str, TaskResult],
    *,
    decided: bool,
) -> Status:
    if sample.error is not None:
        if sample.error.message.startswith(_CANCELLED):
            return "cancelled"
        return "setup_error" if record.provisioned_at is None else "errored"
    if record.provisioned_at is None:  # a limit ended set-up; scores would say nothing
        return "setup_error"
    if any(result.success is None for result in results.values()) and not decided:
        return "unscored"
    return "scored"


def _error(sample: EvalSample, record: EpisodeRecord) -> str | None:
    if sample.error is not None:
        return last_error(sample)
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
