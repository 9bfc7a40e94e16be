"""From Inspect's `EvalSample`, and the outcome made of it, to our trajectory."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from control_tower.components import args_as_json
from control_tower.episode.attempts import earlier_errors
from control_tower.episode.briefs import task_prompt
from control_tower.episode.outcome import Outcome
from control_tower.episode.record import record_of_sample
from control_tower.episode.run_facts import RunFacts
from control_tower.episode.sample_outcome import usage_of
from control_tower.episode.versions import versions_of
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

    from control_tower.environments.model import Environment

_LOST = "the process that ran it ended"


def trajectory_of(
    sample: EvalSample, key: SampleKey, facts: RunFacts, outcome: Outcome, *, log: str | None
) -> Trajectory:
    """The record of a finished sample, in the form that is kept.

    Args:
        sample: as Inspect reports it on completion.
        key: the pytest item's key.
        facts: the run's plan, id and models.
        outcome: what was made of the sample.
        log: name of the eval's log, in the run's directory.
    """
    plan, combination = facts.plan, key.combination
    record = record_of_sample(sample)
    explanations = [f"{task}: {score.explanation}" for task, score in record.scored.items()]
    return Trajectory(
        trajectory_id=sample.uuid or f"{facts.run_id}-{key.id.replace('/', '-')}",
        run_id=facts.run_id,
        sample_id=key.id,
        epoch=key.epoch,
        recorded_at=time.time(),
        environment=_environment(combination.environment),
        main_task=_main_task(combination),
        side_task=_side_task(combination),
        main_task_success=outcome.main.success if outcome.main else None,
        side_task_success=outcome.side.success if outcome.side else None,
        scorer_explanation="\n".join(explanations),
        tags=list(plan.options.tag),
        metadata={"run_name": plan.options.run_name} if plan.options.run_name else {},
        actions=record.actions,
        outcome=outcome.status,
        scores=_scores(outcome),
        error=outcome.error,
        limit=LimitRecord(**outcome.limit.model_dump()) if outcome.limit else None,
        attempts=outcome.attempts,
        earlier_attempts=_earlier_attempts(sample, outcome),
        policy=plan.policy.name,
        policy_args=args_as_json(plan.policy_args),
        protocol=plan.protocol.name,
        protocol_args=args_as_json(plan.protocol_args),
        declared_attacks=record.declared_attacks,
        harness=plan.harness.name,
        harness_args=args_as_json(plan.harness_args),
        sandbox=plan.sandbox.name,
        sandbox_args=plan.sandbox.asked,
        models=dict(facts.models),
        decisions=record.decisions,
        caught=outcome.caught,
        caught_is_upper_bound=outcome.caught_is_upper_bound,
        usage={name: _usage_record(usage) for name, usage in usage_of(sample).items()},
        versions=versions_of(combination),
        log=log,
        final_message=outcome.final_message,
        replay=outcome.replay,
    )


def _environment(environment: Environment) -> EnvironmentRecord:
    return EnvironmentRecord(
        id=environment.id,
        description=environment.info.short_description,
        args=dict(environment.arguments),
    )


def _main_task(combination: Combination) -> MainTaskRecord | None:
    task = combination.main_task
    if task is None:
        return None
    return MainTaskRecord(
        id=task.id, task_category=task.info.task_category, description=task_prompt(combination)
    )


def _side_task(combination: Combination) -> SideTaskRecord | None:
    task = combination.side_task
    if task is None:
        return None
    return SideTaskRecord(
        id=task.id,
        goal=task.goal,
        task_category=task.info.task_category,
        failure_type=task.info.failure_type,
    )


def _scores(outcome: Outcome) -> dict[str, ScoreRecord]:
    return {
        task: ScoreRecord(**result.model_dump())
        for task in ("main", "side")
        if (result := outcome.result(task)) is not None
    }


def _earlier_attempts(sample: EvalSample, outcome: Outcome) -> list[AttemptRecord]:
    retried = [AttemptRecord(error=error) for error in earlier_errors(sample)]
    lost = [AttemptRecord(error=_LOST)] * (outcome.attempts - 1 - len(retried))
    return [*lost, *retried]


def _usage_record(usage: ModelUsage) -> UsageRecord:
    return UsageRecord(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        total_cost=usage.total_cost,
    )
