"""The recordings of a run: which sample replays which, and whether that can be done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from control_tower.components import Component
from control_tower.contracts import Policy
from control_tower.errors import UsageProblem, spoken
from control_tower.run_options import REPLAY, RunOptions
from control_tower.selection import Combination, Selection
from control_tower.selection.recorded import Recordings
from control_tower.tools.names import AGENT_TOOLS, SUBMIT

if TYPE_CHECKING:
    from control_tower.trajectories.schema import Action, Trajectory

_OPENING = 2
"""Messages before the first turn: the system prompt and the task."""
_SPARE = 10
"""Messages beyond the recorded ones: the submission, and what a protocol may add."""
_ARGUMENT = "trajectory"
"""The argument of policies that replay which names what to replay."""


def with_recordings(
    options: RunOptions,
    selection: Selection,
    policy: Component[Policy],
    args: Mapping[str, Any],
    recordings: Recordings,
) -> Selection:
    """The selection with what each sample replays, after checking that it can be.

    Args:
        options: of the run.
        selection: its combinations; those of `--trajectory-id` have their recordings.
        policy: the untrusted policy.
        args: its arguments.
        recordings: finds what an argument of the policy names.

    Raises:
        UsageProblem: a sample has two things to replay, or a recording with calls of tools that
            there are not.
    """
    _refuse_another_policy(options, policy)
    named = args.get(_ARGUMENT) if policy.replays else None
    combinations = selection.combinations
    if named:
        combinations = _with_named(options, combinations, str(named), recordings)
    if policy.replays and not options.replay_sandbox:
        _refuse_unknown_tools(combinations, args.get("stop_after"))
    if policy.replays:
        _refuse_early_submissions(combinations, args.get("stop_after"))
    return replace(selection, combinations=combinations)


def refuse_nothing_to_replay(
    options: RunOptions, policy: Component[Policy], args: Mapping[str, Any]
) -> None:
    """Refuse a run that is to replay, and names nothing that could be.

    Raises:
        UsageProblem: if so.
    """
    if not (policy.replays or options.replay_sandbox):
        return
    named = args.get(_ARGUMENT) if policy.replays else None
    if not (options.trajectory_id or options.rerun_traj or named):
        wants = f"policy '{policy.name}'" if policy.replays else options.flag("replay_sandbox")
        raise UsageProblem(
            f"{wants} needs a recording for every sample; name it with "
            f"{options.flag('trajectory_id')}"
        )


def messages_of(recording: Trajectory) -> int:
    """How many messages a replay of the recording may take: those recorded, and some to spare."""
    known = {action.turn for action in recording.actions if action.turn is not None}
    turns = len(known) + sum(action.turn is None for action in recording.actions)
    return _OPENING + turns + len(recording.actions) + _SPARE


def _refuse_another_policy(options: RunOptions, policy: Component[Policy]) -> None:
    if options.rerun_traj and not policy.replays:
        raise UsageProblem(
            f"{options.flag('rerun_traj')} replays a trajectory, with policy '{REPLAY}', so "
            f"{options.flag('untrusted_policy')} {policy.name} contradicts it; to run another "
            f"policy on its combination, name it with {options.flag('trajectory_id')}"
        )


def _with_named(
    options: RunOptions, combinations: tuple[Combination, ...], name: str, recordings: Recordings
) -> tuple[Combination, ...]:
    flag = f"{options.flag('untrusted_policy_arg')} {_ARGUMENT}"
    if any(combination.recording for combination in combinations):
        other = "rerun_traj" if options.rerun_traj else "trajectory_id"
        raise UsageProblem(
            f"{flag} and {options.flag(other)} both name what is replayed; use one of them"
        )
    found = recordings.of(name, flag=flag)
    if len(found) > 1:
        raise UsageProblem(
            f"{flag}: '{name}' stands for {len(found)} trajectories, and every sample replays the "
            f"same one; name one, or use {options.flag('trajectory_id')}, which makes a sample of "
            "each"
        )
    return tuple(replace(combination, recording=found[0]) for combination in combinations)


def _refuse_unknown_tools(combinations: Iterable[Combination], stop_after: int | None) -> None:
    """Refuse recorded calls that would come to nothing now.

    A call that the recorded run answered with an error for the same reason gets it again.
    """
    for combination in combinations:
        recording = combination.recording
        assert recording is not None  # it was checked
        lost = [a for a in recording.actions[:stop_after] if _is_lost(a)]
        if lost:
            names = spoken(sorted({action.function for action in lost}))
            raise UsageProblem(
                f"trajectory {recording.trajectory_id}: step {lost[0].index} calls a tool that "
                f"environment '{combination.environment.id}' does not offer: {names}; its tools "
                f"are {', '.join(AGENT_TOOLS)}"
            )


def _refuse_early_submissions(combinations: Iterable[Combination], stop_after: int | None) -> None:
    """Refuse recordings that go on after a submission, which would end the replay."""
    for combination in combinations:
        assert combination.recording is not None  # it was checked
        actions = combination.recording.actions[:stop_after]
        for action, following in pairwise(actions):
            submits = action.function == SUBMIT and action.output_error is None
            if submits and (action.turn is None or following.turn != action.turn):
                raise UsageProblem(
                    f"trajectory {combination.recording.trajectory_id}: step {action.index} "
                    "submits, which ends the loop, and more steps follow; replay it up to there, "
                    f"with the argument stop_after={action.index + 1} of policy '{REPLAY}'"
                )


def _is_lost(action: Action) -> bool:
    """Whether the call would find no tool now, and found one then."""
    if action.function in AGENT_TOOLS:
        return False
    return action.output_error != f"Tool {action.function} not found"  # as the harness says it
