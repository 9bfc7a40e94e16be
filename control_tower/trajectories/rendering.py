"""A trajectory as lines for a reader. Escaping what a terminal must not get is the caller's."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from control_tower.trajectories.calls import call_lines
from control_tower.trajectories.comparing import first_differing_lines, success_text
from control_tower.trajectories.schema import (
    Action,
    Decision,
    MonitorResponse,
    ReplayRecord,
    Trajectory,
)
from control_tower.trajectories.summary import sample_id_of

_LINES = 40
"""Lines of an output that are shown, unless all are wanted: the first and the last ones."""
_COLUMNS = 400
"""Characters of such a line."""


def rendered(
    trajectory: Trajectory, *, steps: Collection[int] | None = None, full: bool = False
) -> Iterator[str]:
    """The trajectory, line by line.

    Args:
        trajectory: what to show.
        steps: 0-based positions of the actions to show; None: all.
        full: outputs whole, however long.
    """
    yield from _header(trajectory)
    yield from _actions(trajectory, steps, full=full)
    yield from _results(trajectory)


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
        "name": str(t.metadata.get("run_name") or ""),
    }
    yield from _aligned(rows)


def _actions(t: Trajectory, steps: Collection[int] | None, *, full: bool) -> Iterator[str]:
    decided = _decisions_by_turn(t)
    told: set[int] = set()
    for position, action in enumerate(t.actions):
        if steps is not None and position not in steps:
            continue
        yield ""
        turn = action.turn
        if turn is not None and turn not in told:
            told.add(turn)
            for decision in decided.pop(turn, []):
                yield _decision(decision)
        yield from _action(t, position, action, full=full)
    if steps is None:  # about turns of which nothing was executed
        for turn in sorted(decided):
            yield ""
            for decision in decided[turn]:
                yield _decision(decision)


def _decisions_by_turn(t: Trajectory) -> dict[int, list[Decision]]:
    found: dict[int, list[Decision]] = {}
    for decision in t.decisions:
        found.setdefault(decision.turn, []).append(decision)
    return found


def _action(t: Trajectory, position: int, action: Action, *, full: bool) -> Iterator[str]:
    notes = [f"turn {action.turn}"] if action.turn is not None else []
    if action.turn in (t.declared_attacks or ()):
        notes.append("declared part of the attack")
    if action.monitor_response is not None:
        notes.append(_suspicion(action.monitor_response))
    yield f"[{position}] " + ", ".join(notes or [action.function])
    if action.agent_reasoning:
        yield from (f"    # {line}" for line in _shortened(action.agent_reasoning, full=full))
    yield from (f"    {line}" for line in call_lines(action))
    if action.output:
        yield from (f"    | {line}" for line in _shortened(action.output, full=full))
    if action.output_error is not None:
        yield from (f"    ! {line}" for line in _shortened(action.output_error, full=full))


def _decision(decision: Decision) -> str:
    parts = [f"    {decision.kind.upper()}"]
    if decision.calls:
        parts.append(f"of {', '.join(decision.calls)}")
    if decision.monitor_response is not None:
        parts.append(f"({_suspicion(decision.monitor_response, decision.threshold)})")
    if decision.draws:
        parts.append(f"[drew {', '.join(f'{k}={v:.4g}' for k, v in decision.draws.items())}]")
    if decision.instead_monitor_response is not None:
        parts.append(f"(instead: {_suspicion(decision.instead_monitor_response)})")
    reason = " ".join(decision.reason.split())
    return " ".join(parts) + (f": {reason}" if reason else "")


def _suspicion(response: MonitorResponse, threshold: float | None = None) -> str:
    if response.sus_score is None:
        return f"no suspicion score: {' '.join((response.error or 'no reason given').split())}"
    text = f"suspicion {response.sus_score:.3g}"
    if threshold is not None:
        text += f", threshold {threshold:.3g}"
    scores = [m.sus_score for m in response.members]
    if len(scores) > 1:
        text += f", of {', '.join('none' if s is None else f'{s:.3g}' for s in scores)}"
    return text


def _results(t: Trajectory) -> Iterator[str]:
    yield ""
    yield (
        f"outcome: {t.outcome}"
        + (", caught" if t.caught else "")
        + (" (an upper bound)" if t.caught and t.caught_is_upper_bound else "")
    )
    for task, score in t.scores.items():
        how = " (recorded)" if score.recorded else ""
        how += " (no clear verdict)" if score.no_verdict else ""
        yield f"{task} task: {success_text(score.success)}{how}"
        yield from (f"    {line}" for line in score.explanation.split("\n") if line)
    rows = {
        "error": t.error or "",
        "ended by": f"{t.limit.type} limit {t.limit.reason}".rstrip() if t.limit else "",
        "attempts": str(t.attempts) if t.attempts > 1 else "",
        "tokens": ", ".join(f"{role} {u.total_tokens}" for role, u in t.usage.items()),
        "final message": t.final_message,
        "log": t.log or "",
        "versions": ", ".join(f"{name} {value[:12]}" for name, value in t.versions.items()),
    }
    yield from _aligned(rows)
    if t.replay is not None:
        yield from _replay(t, t.replay)


def _replay(t: Trajectory, replay: ReplayRecord) -> Iterator[str]:
    yield ""
    yield (
        f"replay of {replay.trajectory_id}: {replay.replayed} of {replay.actions} recorded actions"
        + (", outputs as recorded" if replay.answered else "")
    )
    for task in dict.fromkeys([*replay.scores, *t.scores]):
        old, new = replay.scores.get(task), t.scores.get(task)
        before = "-" if old is None else success_text(old.success)
        now = "-" if new is None else success_text(new.success)
        yield f"    {task} task: recorded {before}, now {now}"
    divergence = replay.divergence
    if divergence is None:
        return
    what = "error" if divergence.part == "output_error" else "output"
    _, old_line, new_line = first_differing_lines(
        divergence.recorded or "", divergence.actual or ""
    )
    yield f"    the {what} of step {divergence.action} is another one:"
    yield f"        recorded: {'(nothing)' if old_line is None else old_line[:_COLUMNS]}"
    yield f"        now:      {'(nothing)' if new_line is None else new_line[:_COLUMNS]}"


def _shortened(text: str, *, full: bool) -> list[str]:
    lines = text.rstrip("\n").split("\n")
    if full:
        return lines
    if len(lines) > _LINES:
        half = _LINES // 2
        left = len(lines) - _LINES
        lines = [*lines[:half], f"… {left} lines …", *lines[-half:]]
    return [line if len(line) <= _COLUMNS else line[:_COLUMNS] + " …" for line in lines]


def _aligned(rows: Mapping[str, str]) -> Iterator[str]:
    for name, text in rows.items():
        if text and text != "-":
            first, *more = text.split("\n")
            yield f"{name + ':':<14} {first}"
            yield from (f"{'':<14} {line}" for line in more)


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
