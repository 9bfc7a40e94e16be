"""What a replay came to beside its recording: how far it went, where outputs part, its scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from control_tower.episode.outcome import TaskResult
from control_tower.selection import Combination
from control_tower.tools.replayed import is_call
from control_tower.trajectories.calls import call_line
from control_tower.trajectories.excerpts import around_difference
from control_tower.trajectories.schema import (
    Action,
    Divergence,
    ReplayRecord,
    ScoreRecord,
    Trajectory,
)

_KEPT = 4_000
"""Characters of an output that a divergence keeps."""
_BEFORE = 200
"""Of those, how many of what both have in common, before they part."""


def replay_record(
    combination: Combination, actions: Sequence[Action], *, answered: bool
) -> ReplayRecord | None:
    """How a sample compares with the recording that it replayed; None if it has none.

    Args:
        combination: the sample's, with the recording.
        actions: that were executed, in order.
        answered: whether outputs were taken from the recording.
    """
    recording = combination.recording
    if recording is None:
        return None
    replayed = _replayed(recording, actions)
    return ReplayRecord(
        trajectory_id=recording.trajectory_id,
        run_id=recording.run_id,
        actions=len(recording.actions),
        replayed=replayed,
        answered=answered,
        scores=dict(_comparable_scores(combination, recording)),
        divergence=_divergence(recording.actions, actions, replayed),
    )


def recorded_score(combination: Combination, actions: Sequence[Action], task: str) -> TaskResult:
    """The recording's score of `main` or `side`, if the whole recording was replayed.

    Otherwise there is none, with the reason: nothing was executed that could be scored.
    """
    recording = combination.recording
    if recording is None:
        return TaskResult(success=None, explanation="there is no recording")
    replayed, whole = _replayed(recording, actions), len(recording.actions)
    if replayed < whole:
        reason = f"{replayed} of {whole} recorded actions were replayed; their score is not known"
        return TaskResult(success=None, explanation=reason)
    score = _comparable_scores(combination, recording).get(task)
    if score is None:
        return TaskResult(success=None, explanation="the recording has no score of this task")
    return TaskResult(
        success=score.success,
        explanation=score.explanation,
        no_verdict=score.no_verdict,
        no_scorer=score.no_scorer,
        disagreed=score.disagreed,
        recorded=True,
    )


def _replayed(recording: Trajectory, actions: Sequence[Action]) -> int:
    """How many of the recorded actions were made again, in order, from the first one on."""
    count = 0
    for recorded, action in zip(recording.actions, actions, strict=False):
        if not is_call(recorded, action.function, action.arguments):
            break
        count += 1
    return count


def _comparable_scores(
    combination: Combination, recording: Trajectory
) -> Mapping[str, ScoreRecord]:
    """The recorded scores of the tasks that the combination has, too."""
    if recording.environment.id != combination.environment.id:
        return {}
    pairs = {
        "main": (recording.main_task, combination.main_task),
        "side": (recording.side_task, combination.side_task),
    }
    return {
        task: recording.scores[task]
        for task, (recorded, now) in pairs.items()
        if recorded and now and recorded.id == now.id and task in recording.scores
    }


def _divergence(
    recorded: Sequence[Action], actions: Sequence[Action], replayed: int
) -> Divergence | None:
    """The first output that is another one, of the calls that are the same; else another call."""
    for step, (before, now) in enumerate(zip(recorded[:replayed], actions, strict=False)):
        if before.output != now.output:
            return _parted(step, "output", before.output, now.output)
        if before.output_error != now.output_error:
            return _parted(step, "output_error", before.output_error, now.output_error)
    if replayed == min(len(recorded), len(actions)):
        return None
    calls = (recorded[replayed], actions[replayed])
    was, now_is = (call_line(a.function, a.arguments, most=_KEPT) for a in calls)
    return _parted(replayed, "call", was, now_is)


def _parted(action: int, part: str, recorded: str | None, actual: str | None) -> Divergence:
    was, is_now = around_difference(recorded, actual, most=_KEPT, before=_BEFORE)
    return Divergence.model_validate(
        {"action": action, "part": part, "recorded": was, "actual": is_now}
    )
