"""Where two runs part: what they were of, the first action that differs, and their scores."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from control_tower.trajectories.calls import call_line, exact_call
from control_tower.trajectories.excerpts import around_difference, first_differing_lines
from control_tower.trajectories.schema import Action, Trajectory

__all__ = ["Comparison", "compare", "first_differing_lines", "success_text"]

Part = Literal["call", "output", "error", "missing"]
_FIELDS = (
    "policy",
    "policy_args",
    "protocol",
    "protocol_args",
    "harness",
    "harness_args",
    "sandbox",
    "sandbox_args",
    "models",
    "epoch",
    "outcome",
    "caught",
)


_SHOWN = 280
"""Characters of a call that are shown."""
_WHOLE = 10**9


@dataclass(frozen=True)
class FieldDifference:
    """A field in which the two differ, both values as texts."""

    name: str
    first: str
    second: str


@dataclass(frozen=True)
class ActionDifference:
    """The first action that differs."""

    step: int
    """0-based position among the actions."""
    part: Part
    """`missing`: one of them has ended before it."""
    first: str | None
    second: str | None
    """The call, cut to what is around the difference, the output or the error of each; None if it
    has none."""


@dataclass(frozen=True)
class ScorePair:
    """A task's success in both; the text `-` where it was not to be scored."""

    task: str
    first: str
    second: str


@dataclass(frozen=True)
class Comparison:
    """How two trajectories compare."""

    fields: tuple[FieldDifference, ...]
    action: ActionDifference | None
    same_actions: int
    """How many actions they begin with alike, outputs included."""
    scores: tuple[ScorePair, ...]

    @property
    def same(self) -> bool:
        """Whether nothing of it differs."""
        scores_agree = all(pair.first == pair.second for pair in self.scores)
        return not self.fields and self.action is None and scores_agree


def compare(first: Trajectory, second: Trajectory) -> Comparison:
    """Compare two trajectories; ids, times, tokens and versions of packages do not count."""
    difference = _first_difference(first.actions, second.actions)
    shortest = min(len(first.actions), len(second.actions))
    return Comparison(
        fields=tuple(_fields(first, second)),
        action=difference,
        same_actions=shortest if difference is None else difference.step,
        scores=tuple(_scores(first, second)),
    )


def _fields(first: Trajectory, second: Trajectory) -> list[FieldDifference]:
    pairs: list[tuple[str, Any, Any]] = [
        ("environment", first.environment.id, second.environment.id),
        ("environment arguments", first.environment.args, second.environment.args),
        ("main task", _id(first.main_task), _id(second.main_task)),
        ("side task", _id(first.side_task), _id(second.side_task)),
    ]
    pairs += [
        (name.replace("_", " "), getattr(first, name), getattr(second, name)) for name in _FIELDS
    ]
    for what in ("environment", "main_task", "side_task"):
        old, new = (t.versions.get(what) for t in (first, second))
        if old and new:
            pairs.append((f"files of {what.replace('_', ' ')}", old[:12], new[:12]))
    return [FieldDifference(name, _text(a), _text(b)) for name, a, b in pairs if a != b]


def _first_difference(first: list[Action], second: list[Action]) -> ActionDifference | None:
    for step, (a, b) in enumerate(zip(first, second, strict=False)):
        if (a.function, a.arguments) != (b.function, b.arguments):
            calls = around_difference(*_calls(a, b), most=_SHOWN)
            return ActionDifference(step, "call", *calls)
        if a.output != b.output:
            return ActionDifference(step, "output", a.output, b.output)
        if a.output_error != b.output_error:
            return ActionDifference(step, "error", a.output_error, b.output_error)
    step = min(len(first), len(second))
    if len(first) == len(second):
        return None
    left = _call(first[step]) if len(first) > step else None
    right = _call(second[step]) if len(second) > step else None
    return ActionDifference(step, "missing", left, right)


def _scores(first: Trajectory, second: Trajectory) -> list[ScorePair]:
    return [
        ScorePair(task, _score(first, task), _score(second, task))
        for task in ("main", "side")
        if task in first.scores or task in second.scores
    ]


def _score(trajectory: Trajectory, task: str) -> str:
    score = trajectory.scores.get(task)
    return "-" if score is None else success_text(score.success)


def success_text(success: bool | None) -> str:
    """A success in words."""
    return {True: "success", False: "no success", None: "unscored"}[success]


def _calls(first: Action, second: Action) -> tuple[str, str]:
    """Both calls in a line, whole; as JSON where they look the same otherwise."""
    a, b = (call_line(t.function, t.arguments, most=_WHOLE) for t in (first, second))
    if a == b:
        a, b = (exact_call(t.function, t.arguments) for t in (first, second))
    return a, b


def _call(action: Action) -> str:
    return call_line(action.function, action.arguments, most=_SHOWN)


def _id(task: Any) -> str:
    return task.id if task else "-"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value or "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return json.dumps(value, ensure_ascii=False, default=str)
