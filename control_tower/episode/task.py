"""The Inspect task of a run: its solver lives an episode, its scorers judge it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Literal

import anyio
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.event import SampleLimitEvent
from inspect_ai.log import transcript
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Target, accuracy, scorer, stderr
from inspect_ai.solver import TaskState, solver
from inspect_ai.util import LimitExceededError

from control_tower.contracts import HarnessSession, ToolBackend
from control_tower.episode.briefs import blue_context, red_context, system_prompt, task_prompt
from control_tower.episode.middle import Middle
from control_tower.episode.outcome import LimitHit, Outcome, TaskResult
from control_tower.episode.plan import RunPlan
from control_tower.episode.preparation import prepare
from control_tower.episode.record import EpisodeRecord, record_of_state
from control_tower.episode.replaying import recorded_score
from control_tower.episode.root_shell import root_shell
from control_tower.episode.sample_outcome import outcome_when_scored
from control_tower.episode.silent_models import silent_models_say_why
from control_tower.scoring.checks import ARGUMENTS
from control_tower.scoring.wrapper import (
    NO_VERDICT,
    load_scorer,
    run_scorer,
    run_scorer_twice,
)
from control_tower.selection import SampleKey, epoch_id
from control_tower.stray_exits import stray_exits_are_errors
from control_tower.tools.agent import agent_tools
from control_tower.tools.backends import SandboxedBackend
from control_tower.tools.replayed import ReplayedBackend

if TYPE_CHECKING:
    from inspect_ai import SampleSource
    from inspect_ai.scorer import Scorer
    from inspect_ai.solver import Generate, Solver
    from inspect_ai.util import SandboxEnvironmentSpec

OnProvisioned = Callable[[str], None]
"""Called with the sample's id when its sandbox and set-up are ready."""
OnScored = Callable[[Outcome], Awaitable[None]]
"""Awaited with what a sample came to, its sandbox still up, after each attempt that was scored."""

_TIME_TO_FINISH = 15
"""Seconds for the `finish` hooks when a time limit, or the end of the run, cuts a sample short."""


def build_task(
    plan: RunPlan,
    source: SampleSource,
    on_provisioned: OnProvisioned,
    on_scored: OnScored,
    *,
    name: str,
) -> Task:
    """The task that runs `plan`'s samples as `source` feeds them; its log is called after it."""
    keys = {key.id: key for key in plan.samples()}
    return Task(
        name=name,
        dataset=source,
        solver=_solver(plan, keys, on_provisioned),
        scorer=[_scorer(plan, keys, "main"), _scorer(plan, keys, "side")],
        cleanup=_cleanup(plan, keys, on_scored),
        message_limit=plan.message_limit,
        token_limit=plan.options.token_limit,
        time_limit=plan.options.sample_time_limit,
        metadata={
            "untrusted_policy": plan.policy.name,
            "protocol": plan.protocol.name,
            "harness": plan.harness.name,
            "sandbox": plan.sandbox.name,
            **({"run_name": plan.options.run_name} if plan.options.run_name else {}),
        },
    )


def inspect_sample(
    key: SampleKey, sandbox: SandboxEnvironmentSpec | None, *, run_id: str
) -> Sample:
    """The Inspect sample of a key; its epoch is said when it is enqueued."""
    combination = key.combination
    main, side = combination.main_task, combination.side_task
    return Sample(
        id=combination.id,
        input=task_prompt(combination),
        metadata={
            "environment": combination.environment.id,
            "main_task": main.id if main else None,
            "side_task": side.id if side else None,
            "mode": combination.mode,
            ARGUMENTS: combination.environment.argument_variables,
            "run_id": run_id,  # which a sandbox is labelled with
        },
        sandbox=sandbox,
    )


def _solver(plan: RunPlan, keys: Mapping[str, SampleKey], on_provisioned: OnProvisioned) -> Solver:
    """One sample's life up to scoring: set up, then the policy under the protocol."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        key = keys[_key_id(state)]
        if plan.sandbox.is_there:
            await prepare(key.combination, copies_source=plan.sandbox.copies_source)
        record = EpisodeRecord(provisioned_at=time.time())
        record.keep(state)
        on_provisioned(key.id)
        try:
            with stray_exits_are_errors("a component of the run"), silent_models_say_why():
                await _converse(plan, key, state, record)
        finally:
            record.keep(state)
        return state

    @solver(name="episode")
    def episode() -> Solver:  # no parameters: Inspect would write them into the log
        return solve

    return episode()


async def _converse(plan: RunPlan, key: SampleKey, state: TaskState, record: EpisodeRecord) -> None:
    policy = plan.policy.create(plan.policy_args)
    protocol = plan.protocol.create(plan.protocol_args)
    red = red_context(key, record.actions)
    attacks = key.combination.side_task is not None
    names = (f"policy '{plan.policy.name}'", f"protocol '{plan.protocol.name}'")
    root = root_shell if plan.options.network_control else None
    context = blue_context(key, root=root)
    middle = Middle(
        policy,
        protocol,
        context,
        record,
        attacks=attacks,
        names=names,
        asks_untrusted=plan.protocol.asks_untrusted,
    )
    blue = middle.blue
    await policy.setup(red)
    await protocol.setup(blue)
    session = HarnessSession(
        state=state,
        system_prompt=system_prompt(key.combination),
        task_prompt=task_prompt(key.combination),
        tools=agent_tools(
            key.combination.environment.info.workspace, isolated=plan.sandbox.settings.isolation
        ),
        backend=_backend(plan, key),
        record=middle.record_action,
    )

    async def finish() -> None:
        await protocol.finish(blue)
        await policy.finish(red)

    try:
        await plan.harness.create(plan.harness_args).run(session, middle.decide)
    except LimitExceededError:
        await finish()
        raise
    except anyio.get_cancelled_exc_class():  # a time limit, or the end of the run
        with anyio.move_on_after(_TIME_TO_FINISH, shield=True):
            await finish()
        raise
    await finish()


def _backend(plan: RunPlan, key: SampleKey) -> ToolBackend:
    recording = key.combination.recording
    if plan.options.replay_sandbox and recording is not None:
        return ReplayedBackend(recording.actions)
    return SandboxedBackend()


def _scorer(plan: RunPlan, keys: Mapping[str, SampleKey], which: Literal["main", "side"]) -> Scorer:
    """Judge the `main` or the `side` task of a sample; nothing when it is not to be scored."""
    load = cache(load_scorer)  # once a run, not once a sample

    async def score(state: TaskState, target: Target) -> Score | None:
        key = keys[_key_id(state)]
        wanted = plan.scored_tasks(key)
        task = key.combination.main_task if which == "main" else key.combination.side_task
        if which not in wanted or task is None:
            return None
        if plan.options.replay_sandbox:
            actions = record_of_state(state).actions
            result = recorded_score(key.combination, actions, which)
        elif task.scorer is None:
            result = TaskResult(success=None, explanation="the task has no scorer", no_scorer=True)
        else:
            twice = plan.options.score_twice
            run = run_scorer_twice if twice else run_scorer
            timeout = plan.scorer_seconds(len(wanted) * (2 if twice else 1))
            score = await run(load(task.scorer), state, target, timeout=timeout)
            result = TaskResult(**asdict(score))
        record = record_of_state(state)
        record.scored_at = time.time()
        record.scored[which] = result
        record.keep(state)
        return _inspect_score(result)

    @scorer(name=f"{which}_task", metrics=[accuracy(), stderr()])
    def task_scorer() -> Scorer:
        return score

    return task_scorer()


def _cleanup(
    plan: RunPlan, keys: Mapping[str, SampleKey], on_scored: OnScored
) -> Callable[[TaskState], Awaitable[None]]:
    """Inspect's clean-up hook: after scoring, before the sandbox goes, at every attempt."""

    async def cleanup(state: TaskState) -> None:
        key = keys[_key_id(state)]
        record = record_of_state(state)
        if set(record.scored) == set(plan.scored_tasks(key)):
            await on_scored(outcome_when_scored(key, record, _limit_so_far()))

    return cleanup


def _limit_so_far() -> LimitHit | None:
    """What ended the agent's work, as the running sample's transcript has it."""
    events = [e for e in transcript().events if isinstance(e, SampleLimitEvent)]
    if not events:
        return None
    return LimitHit(type=events[0].type, limit=events[0].limit, reason=events[0].message)


def _inspect_score(result: TaskResult) -> Score:
    if result.success is None:
        return Score.unscored(reason=result.explanation)
    value = CORRECT if result.success else INCORRECT
    metadata = {NO_VERDICT: True} if result.no_verdict else None
    return Score(value=value, explanation=result.explanation, metadata=metadata)


def _key_id(state: TaskState) -> str:
    return epoch_id(str(state.sample_id), state.epoch)
