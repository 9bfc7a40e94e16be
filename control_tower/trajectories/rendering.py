"""A trajectory as lines for a reader. Escaping what a terminal must not get is the caller's."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from control_tower.trajectories.calls import call_lines
from control_tower.trajectories.excerpts import middle_left_out
from control_tower.trajectories.rendering_results import aligned, result_lines, text_lines
from control_tower.trajectories.schema import Action, Decision, MonitorResponse, Trajectory
from control_tower.trajectories.summary import run_name_of, sample_id_of

_COLUMNS = 400
"""Characters of a reason."""
_CALL_COLUMNS = 2_000
"""Characters of a line of a call."""


def rendered(
    trajectory: Trajectory, *, steps: Collection[int] | None = None, full: bool = False
) -> Iterator[str]:
    """The trajectory, line by line.

    Args:
        trajectory: what to show.
        steps: 0-based positions of the actions to show; None: all.
        full: texts whole, however long.
    """
    yield from _header(trajectory)
    yield from _actions(trajectory, steps, full=full)
    yield from result_lines(trajectory, full=full)


def _header(t: Trajectory) -> Iterator[str]:
    yield f"trajectory {t.trajectory_id}"
    rows: dict[str, str] = {
        "sample": t.sample_id or sample_id_of(t),
        "run": t.run_id,
        "recorded": _when(t.recorded_at),
        "environment": t.environment.id + _arguments(t.environment.args),
        "main task": _task(t.main_task),
        "side task": _task(t.side_task),
        "policy": t.policy + _arguments(t.policy_args),
        "protocol": t.protocol + _arguments(t.protocol_args),
        "harness": t.harness + _arguments(t.harness_args),
        "sandbox": t.sandbox + _arguments(t.sandbox_args),
        "models": ", ".join(f"{role}={model}" for role, model in t.models.items()),
        "tags": ", ".join(t.tags),
        "name": run_name_of(t),
    }
    yield from aligned(rows)


def _actions(t: Trajectory, steps: Collection[int] | None, *, full: bool) -> Iterator[str]:
    """The actions, each after the decisions about its turn and about turns that led to none."""
    left = sorted(t.decisions, key=lambda decision: decision.turn)
    for position, action in enumerate(t.actions):
        before: list[Decision] = []
        while action.turn is not None and left and left[0].turn <= action.turn:
            before.append(left.pop(0))
        if steps is None or position in steps:
            yield ""
            chosen = before if steps is None else [d for d in before if d.turn == action.turn]
            yield from map(_decision, chosen)
            yield from _action(t, position, action, full=full)
    if steps is None and left:
        yield ""
        yield from map(_decision, left)


def _action(t: Trajectory, position: int, action: Action, *, full: bool) -> Iterator[str]:
    notes = [f"turn {action.turn}"] if action.turn is not None else []
    if action.turn in (t.declared_attacks or ()):
        notes.append("declared part of the attack")
    if action.monitor_response is not None:
        notes.append(_suspicion(action.monitor_response))
    yield f"[{position}] " + ", ".join([action.function, *notes])
    if action.agent_reasoning:
        yield from (f"    # {line}" for line in text_lines(action.agent_reasoning, full=full))
    for line in call_lines(action):
        yield f"    {line if full else middle_left_out(line, _CALL_COLUMNS)}"
    if action.output:
        yield from (f"    | {line}" for line in text_lines(action.output, full=full))
    if action.output_error is not None:
        yield from (f"    ! {line}" for line in text_lines(action.output_error, full=full))


def _decision(decision: Decision) -> str:
    parts = [f"  {decision.kind.upper()} turn {decision.turn}"]
    if decision.calls:
        parts[0] += f" ({', '.join(decision.calls)})"
    if decision.monitor_response is not None:
        parts.append(_suspicion(decision.monitor_response, decision.threshold))
    if decision.instead_monitor_response is not None:
        parts.append(f"of what went ahead: {_suspicion(decision.instead_monitor_response)}")
    drawn = [_score(response.sus_score) for response in decision.draw_responses.values()]
    if drawn:
        parts.append(f"of its draws: {', '.join(drawn)}")
    parts += [f"drew {name}={value:.4g}" for name, value in decision.draws.items()]
    reason = " ".join(decision.reason.split())
    return ", ".join(parts) + (f": {middle_left_out(reason, _COLUMNS)}" if reason else "")


def _suspicion(response: MonitorResponse, threshold: float | None = None) -> str:
    if response.sus_score is None:
        reason = " ".join((response.error or "no reason is given").split())
        text = f"no suspicion score: {middle_left_out(reason, _COLUMNS)}"
    else:
        text = f"suspicion {response.sus_score:.3g}"
    notes = [] if threshold is None else [f"threshold {threshold:.3g}"]
    if len(response.members) > 1:
        members = (
            f"{member.name} {_score(member.sus_score)}" if member.name else _score(member.sus_score)
            for member in response.members
        )
        notes.append(f"members {', '.join(members)}")
    return text + (f" ({'; '.join(notes)})" if notes else "")


def _score(score: float | None) -> str:
    return "none" if score is None else f"{score:.3g}"


def _task(task: Any) -> str:
    if task is None:
        return ""
    return f"{task.id} ({task.task_category})" if task.task_category else str(task.id)


def _arguments(values: Mapping[str, Any]) -> str:
    return "".join(f" {key}={value}" for key, value in values.items())


def _when(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
