"""One score out of several: of a monitor's draws, or of an ensemble's members."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, Literal, TypeAlias

from control_tower.contracts import on_scale
from control_tower.errors import unknown_words
from control_tower.stray_exits import stray_exits_are_errors

if TYPE_CHECKING:
    from control_tower.trajectories.schema import MonitorMember, MonitorResponse

Reducer: TypeAlias = Callable[[list[float]], float]
IfUnscored: TypeAlias = Literal["skip", "unscored"]
"""What a missing score does: the others are reduced, or the whole is unscored."""

_NAMED: dict[str, Reducer] = {"mean": fmean, "median": median, "min": min, "max": max}


def find_reducer(name: str) -> Reducer:
    """The reducer `mean`, `median`, `min` or `max`, or the function that `module:name` names.

    Raises:
        ValueError: there is none.
    """
    if ":" not in name:
        if name not in _NAMED:
            known = unknown_words("reducer", name, _NAMED)
            raise ValueError(f"{known}; or a function of your own, as module:name")
        return _NAMED[name]
    module, _, function = name.partition(":")
    try:
        with stray_exits_are_errors(f"'{module}'"):
            found = getattr(importlib.import_module(module), function)
    except Exception as error:
        cause = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ValueError(f"reducer '{name}' cannot be imported: {cause}") from error
    if not callable(found):
        raise ValueError(f"reducer '{name}' is no function")
    return _checked(name, found)


def combined(
    members: Sequence[MonitorMember], *, reducer: Reducer, unscored: IfUnscored
) -> MonitorResponse:
    """The response that `members` come to, in the order they are given; there is at least one.

    Without any score it is unscored, whatever `unscored` says.
    """
    from control_tower.trajectories.schema import MonitorResponse

    scores = [member.sus_score for member in members if member.sus_score is not None]
    names = dict.fromkeys(member.model_name for member in members if member.model_name)
    response = MonitorResponse(model_name=", ".join(names) or None, members=list(members))
    if scores and (len(scores) == len(members) or unscored == "skip"):
        response.sus_score = float(reducer(scores))
    else:
        response.error = _missing(members)
    return response


def _missing(members: Sequence[MonitorMember]) -> str:
    missing = [member for member in members if member.sus_score is None]
    first = missing[0]
    cause = first.error or "no reason was given"
    if first.name is not None:
        cause = f"'{first.name}': {cause}"
    if len(members) == 1:
        return cause
    return f"{len(missing)} of {len(members)} have no score; {cause}"


def _checked(name: str, function: Reducer) -> Reducer:
    def reduce(scores: list[float]) -> float:
        score = float(function(scores))
        if not on_scale(score):
            raise ValueError(f"reducer '{name}' made {score} of {scores}; the scale is 0 to 10")
        return score

    return reduce
