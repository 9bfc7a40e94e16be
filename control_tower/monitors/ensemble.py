"""The `ensemble`: several monitors, asked at once, and one score out of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from control_tower.components import MonitorSpec, monitor
from control_tower.contracts import Case, Monitor
from control_tower.monitors._reducing import IfUnscored, Reducer, combined, find_reducer
from control_tower.together import together

if TYPE_CHECKING:
    from control_tower.trajectories.schema import MonitorMember, MonitorResponse


@monitor(roles=[])
def ensemble(
    members: list[MonitorSpec],
    reducer: str = "mean",
    unscored_members: Literal["skip", "unscored"] = "unscored",
) -> Monitor:
    """Several monitors are asked at once, and their scores are reduced to one.

    Ensembles of monitors are those of Bhatt et al. 2025, "Ctrl-Z" (arXiv:2504.10374). Each member
    brings its own model role; give members that are to use different models a `role` each.

    Args:
        members: the monitors, such as
            `[action-monitor, {name: trajectory-monitor, role: second}]`.
        reducer: what makes one score of theirs: `mean`, `median`, `min`, `max`, or `module:name`
            of a function from a list of scores to a score.
        unscored_members: when a member has no score: `unscored`, the ensemble has none; `skip`,
            the others are reduced.
    """
    if not members:
        raise ValueError("members is empty; name at least one monitor")
    named = zip(_distinct([spec.name for spec in members]), members, strict=True)
    return Ensemble(
        {name: spec.create() for name, spec in named},
        reducer=find_reducer(reducer),
        unscored=unscored_members,
    )


class Ensemble(Monitor):
    """See `ensemble`."""

    def __init__(
        self, members: dict[str, Monitor], *, reducer: Reducer, unscored: IfUnscored
    ) -> None:
        self._members = members
        self._reducer = reducer
        self._unscored = unscored

    async def score(self, case: Case) -> MonitorResponse:
        """What the members' scores are reduced to."""

        async def ask(name: str, member: Monitor) -> MonitorMember:
            return _as_member(name, await member.score(case))

        questions = [(name, partial(ask, name, each)) for name, each in self._members.items()]
        members = await together(questions)
        return combined(members, reducer=self._reducer, unscored=self._unscored)


def _as_member(name: str, response: MonitorResponse) -> MonitorMember:
    from control_tower.trajectories.schema import MonitorMember

    inner = response.members
    return MonitorMember(
        name=name,
        sus_score=response.sus_score,
        model_name=response.model_name,
        error=response.error,
        reply=inner[0].reply if len(inner) == 1 else "",
        members=inner if len(inner) > 1 else [],
    )


def _distinct(names: Sequence[str]) -> list[str]:
    """The names; one that is there already gets the first number, from 2, that is free."""
    distinct: list[str] = []
    for name in names:
        number = 2
        candidate = name
        while candidate in distinct:
            candidate = f"{name}-{number}"
            number += 1
        distinct.append(candidate)
    return distinct
