"""Options that stand for many combinations: all, only main tasks, only side tasks, the first."""

from __future__ import annotations

from collections.abc import Sequence

from control_tower.components import Component
from control_tower.environments.model import Environment
from control_tower.selection.combinations import Combination


def expand(
    way: str,
    environments: Sequence[Environment],
    policy: Component[object],
    notices: list[str],
) -> list[Combination]:
    """The combinations that `way` stands for.

    Args:
        way: a key of `ways.EXPANDING`.
        environments: the selected ones.
        policy: its modes decide what "all" is.
        notices: gets a line for pairs that do not go together.
    """
    if way == "just_side_tasks":
        return [Combination(e, None, side) for e in environments for side in e.side_tasks.values()]
    honest = [
        Combination(environment, main, None)
        for environment in environments
        for main in environment.main_tasks.values()
    ]
    if way in ("just_main_tasks", "env_only"):  # of the latter, one is taken when all is filtered
        return honest
    pairs = _pairs(honest, notices) if "attack" in policy.modes else []
    return (honest if "honest" in policy.modes else []) + pairs


def _pairs(honest: Sequence[Combination], notices: list[str]) -> list[Combination]:
    pairs = [
        Combination(one.environment, one.main_task, side)
        for one in honest
        for side in one.environment.side_tasks.values()
    ]
    fitting = [pair for pair in pairs if pair.goes_together]
    skipped = len(pairs) - len(fitting)
    if skipped:
        notices.append(f"{skipped} incompatible pair{'s' if skipped > 1 else ''} skipped")
    return fitting
