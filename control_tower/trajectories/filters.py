"""Which of many trajectories a user wants to see."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from control_tower.errors import unknown_name
from control_tower.trajectories.one_line import one_line
from control_tower.trajectories.summary import Summary

_LONGEST = 80
"""Characters of a name that a message shows."""
OUTCOMES = ("scored", "unscored", "errored", "setup_error", "cancelled", "not_run")


@dataclass(frozen=True)
class Filters:
    """Values wanted of each field: any of them; an empty field wants anything."""

    environments: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    """Main or side tasks, by id."""
    policies: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    """Run ids, their beginnings, or what runs were called."""

    def takes(self, summary: Summary) -> bool:
        """Whether a trajectory is wanted."""
        return (
            _wanted(self.environments, (summary.environment,))
            and _wanted(self.tasks, (summary.main_task, summary.side_task))
            and _wanted(self.policies, (summary.policy,))
            and _wanted(self.protocols, (summary.protocol,))
            and _wanted(self.tags, summary.tags)
            and _wanted(self.outcomes, (summary.outcome,))
            and (not self.runs or any(_is_run(run, summary) for run in self.runs))
        )


def check_filters(filters: Filters, summaries: Iterable[Summary], *, flags: dict[str, str]) -> None:
    """Refuse values that no trajectory has, which are typing errors.

    Args:
        filters: as the user gave them.
        summaries: all that there are.
        flags: how the user spells each field of `Filters`.

    Raises:
        UsageProblem: for the first one, with the nearest names.
    """
    there = list(summaries)
    if not there:
        return
    known = {
        "environments": ("environment", {s.environment for s in there}),
        "tasks": ("task", {t for s in there for t in (s.main_task, s.side_task) if t}),
        "policies": ("policy", {s.policy for s in there}),
        "protocols": ("protocol", {s.protocol for s in there}),
        "tags": ("tag", {tag for s in there for tag in s.tags}),
        "outcomes": ("outcome", set(OUTCOMES)),
    }
    for field, (kind, names) in known.items():
        for value in getattr(filters, field):
            if value not in names:
                raise unknown_name(
                    f"recorded {kind}" if field != "outcomes" else kind,
                    value,
                    _shown(names),
                    flag=flags[field],
                )
    for run in filters.runs:
        if not any(_is_run(run, summary) for summary in there):
            names = {s.run_id for s in there} | {s.run_name for s in there}
            raise unknown_name("recorded run", run, _shown(names), flag=flags["runs"])


def _is_run(text: str, summary: Summary) -> bool:
    return summary.run_id.startswith(text) or (text == summary.run_name != "")


def _shown(names: Iterable[str]) -> list[str]:
    """The names as a message may have them: anybody may have written them."""
    return [one_line(name, most=_LONGEST) for name in names if name]


def _wanted(values: tuple[str, ...], has: Iterable[str | None]) -> bool:
    return not values or any(value in values for value in has)
