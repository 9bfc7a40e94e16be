"""From the selection options to the combinations of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from control_tower.components import Component
from control_tower.environments.arguments import bind_arguments
from control_tower.environments.changes import Changes, changes_since
from control_tower.environments.discovery import Catalog
from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem
from control_tower.run_options import RunOptions
from control_tower.selection.combinations import Combination, Selection, once_each
from control_tower.selection.expanding import expand
from control_tower.selection.listing import from_task_set, from_trajectory
from control_tower.selection.naming import named
from control_tower.selection.narrowing import (
    check_categories,
    limited,
    of_categories,
    of_changes,
    refuse_pointless_main_tasks,
    with_scorers,
    without_pointless_side_tasks,
)
from control_tower.selection.ways import LISTING, how_to_select, way_of


def select(options: RunOptions, catalog: Catalog, policy: Component[object]) -> Selection:
    """Turn the selection options into combinations, sorted by id.

    Raises:
        UsageProblem: for an unknown name, a contradiction, an incompatible pair named, a
            main task without a scorer, or a selection that is empty.
    """
    way = way_of(options)
    check_categories(options)
    changes = _changes(options, catalog)
    notices: list[str] = []
    environments, found, arguments = _found(way, options, catalog, policy, changes, notices)
    found = of_changes(options, once_each(found), changes, notices)
    if changes is not None and not found:
        return Selection((), nothing=f"nothing to run: {changes.nothing()}")
    found = of_categories(options, found, notices)
    refuse_pointless_main_tasks(options, found, policy)
    found = without_pointless_side_tasks(options, found, policy, notices)
    if not found:
        raise UsageProblem(_nothing_selected(options, environments))
    found = with_scorers(options, found, notices)
    notices += _unused(environments, found)
    found.sort(key=lambda combination: combination.id)
    found = limited(options, found, notices)
    return Selection(tuple(_with_arguments(options, found, arguments)), tuple(notices))


def _found(
    way: str | None,
    options: RunOptions,
    catalog: Catalog,
    policy: Component[object],
    changes: Changes | None,
    notices: list[str],
) -> tuple[list[Environment], list[Combination], dict[str, Any]]:
    """The environments, the combinations before anything is left out, and recorded arguments."""
    if way in LISTING:
        if way == "task_file":
            found, arguments = from_task_set(options, catalog, notices)
        else:
            found, arguments = from_trajectory(options, catalog)
        return list({c.environment.id: c.environment for c in found}.values()), found, arguments
    environments = _environments(options, catalog, changes)
    if way is None:
        raise UsageProblem(how_to_select(options))
    if way == "named":
        return environments, named(options, environments), {}
    return environments, expand(way, environments, policy, notices, options.category), {}


def _environments(
    options: RunOptions, catalog: Catalog, changes: Changes | None
) -> list[Environment]:
    flag = options.flag("env")
    if options.env:
        named_ones = [catalog.get(name, flag=flag) for name in options.env]
        return list({environment.id: environment for environment in named_ones}.values())
    if changes is not None:
        return [catalog.get(name, flag=flag) for name in changes.environments]
    known = ", ".join(catalog.names) or "none found"
    raise UsageProblem(f"name an environment with {flag} (available: {known})")


def _changes(options: RunOptions, catalog: Catalog) -> Changes | None:
    if options.changed_since is None:
        return None
    for name in options.env:
        catalog.get(name, flag=options.flag("env"))
    return changes_since(
        options.changed_since, catalog.directories, flag=options.flag("changed_since")
    )


def _with_arguments(
    options: RunOptions, combinations: Sequence[Combination], recorded: dict[str, Any]
) -> list[Combination]:
    """The combinations with their environments' arguments bound."""
    environments = {c.environment.id: c.environment for c in combinations}
    bound = bind_arguments(
        options.env_arg, list(environments.values()), recorded, flag=options.flag("env_arg")
    )
    by_id = {environment.id: environment for environment in bound}
    return [replace(c, environment=by_id[c.environment.id]) for c in combinations]


def _nothing_selected(options: RunOptions, environments: Sequence[Environment]) -> str:
    names = ", ".join(environment.id for environment in environments)
    return (
        f"nothing is selected in {names} for {options.flag('untrusted_policy')} "
        f"{options.untrusted_policy}"
    )


def _unused(environments: Sequence[Environment], combinations: Sequence[Combination]) -> list[str]:
    used = {combination.environment.id for combination in combinations}
    return [f"nothing of '{e.id}' is selected" for e in environments if e.id not in used]
