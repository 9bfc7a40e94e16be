"""From the selection options to the combinations of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
from control_tower.selection.listing import from_task_set
from control_tower.selection.naming import named
from control_tower.selection.narrowing import (
    check_categories,
    first_of_each,
    limited,
    of_categories,
    of_changes,
    refuse_missing_scorers,
    refuse_pointless_main_tasks,
    without_missing_scorers,
    without_pointless_side_tasks,
)
from control_tower.selection.recorded import (
    Recordings,
    from_trajectories,
    to_run_again,
    told_apart,
)
from control_tower.selection.ways import how_to_select, way_of


def select(
    options: RunOptions,
    catalog: Catalog,
    policy: Component[object],
    changes: Changes | None = None,
    recordings: Recordings | None = None,
) -> Selection:
    """Turn the selection options into combinations, sorted by id.

    Args:
        options: what the user asked for.
        catalog: the environments that there are.
        policy: the untrusted policy.
        changes: what had changed when the run began; None: look, if the options ask for it.
        recordings: finds what is to be replayed.

    Raises:
        UsageProblem: for an unknown name, a contradiction, an incompatible pair named, a
            main task without a scorer, or a selection that is empty. It is no problem that
            nothing which changed is selected.
    """
    way = way_of(options)
    check_categories(options)
    changes = changes or _changes(options, catalog)
    notices: list[str] = []
    asked = (
        _replayed(way, options, catalog, policy, recordings or Recordings(options), notices)
        if way in ("trajectory_id", "rerun_traj")
        else _asked(way, options, catalog, policy, changes, notices)
    )
    arguments = bind_arguments(
        options.env_arg, asked.environments, asked.recorded, flag=options.flag("env_arg")
    )
    refuse_pointless_main_tasks(options, asked.combinations, policy)
    found = _narrowed(way, options, policy, asked, changes, notices)
    if not found and changes is not None:
        nothing = f"nothing to run: {changes.nothing()}"
        return Selection((), nothing=nothing, changes=changes)
    refuse_missing_scorers(options, found)
    notices += _unused(asked.environments, found) if changes is None else []
    found.sort(key=lambda combination: combination.id)
    found = limited(options, found, notices)
    bound = {environment.id: environment for environment in arguments}
    with_arguments = (replace(c, environment=bound[c.environment.id]) for c in found)
    return Selection(tuple(with_arguments), tuple(notices), changes=changes)


@dataclass(frozen=True)
class _Asked:
    """What the options ask for, before anything is left out."""

    environments: list[Environment]
    combinations: list[Combination]
    recorded: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Arguments that trajectories recorded, by environment id."""


def _replayed(
    way: str | None,
    options: RunOptions,
    catalog: Catalog,
    policy: Component[object],
    recordings: Recordings,
    notices: list[str],
) -> _Asked:
    """What recordings ask for; each is an item of its own only if it is replayed."""
    find = to_run_again if way == "rerun_traj" else from_trajectories
    recorded = find(options, catalog, recordings, notices)
    found = recorded.combinations
    if policy.replays or options.replay_sandbox:
        found = told_apart(found)
    environments = list({c.environment.id: c.environment for c in found}.values())
    return _Asked(environments, found, recorded.arguments)


def _asked(
    way: str | None,
    options: RunOptions,
    catalog: Catalog,
    policy: Component[object],
    changes: Changes | None,
    notices: list[str],
) -> _Asked:
    if way == "task_file":
        found = from_task_set(options, catalog, notices)
        return _Asked(list({c.environment.id: c.environment for c in found}.values()), found)
    environments = _environments(options, catalog, changes)
    if way is None:
        raise UsageProblem(how_to_select(options))
    if way == "named":
        return _Asked(environments, named(options, environments))
    return _Asked(environments, expand(way, environments, policy, notices))


def _narrowed(
    way: str | None,
    options: RunOptions,
    policy: Component[object],
    asked: _Asked,
    changes: Changes | None,
    notices: list[str],
) -> list[Combination]:
    """What is left; if that is nothing, and changes were not asked for, a problem."""
    found = of_categories(options, once_each(asked.combinations), notices)
    if not found and asked.combinations and changes is None:
        wanted = " or ".join(options.category)
        raise UsageProblem(
            f"{options.flag('category')}: no selected main task is of category {wanted}"
        )
    found = without_pointless_side_tasks(options, found, policy, notices)
    some = bool(found)
    found = without_missing_scorers(options, found, notices)
    if some and not found and changes is None:
        raise UsageProblem(
            f"{options.flag('main_tasks_with_no_scorers')} exclude leaves nothing: no "
            "selected main task has a scorer"
        )
    found = of_changes(options, found, changes, notices)
    if not found and changes is None:
        raise UsageProblem(_nothing_selected(options, asked.environments))
    return first_of_each(found) if way == "env_only" else found


def _environments(
    options: RunOptions, catalog: Catalog, changes: Changes | None
) -> list[Environment]:
    flag = options.flag("env")
    if options.env:
        named_ones = [catalog.get(name, flag=flag) for name in options.env]
        return list({environment.id: environment for environment in named_ones}.values())
    if changes is None:
        known = ", ".join(catalog.names) or "none found"
        raise UsageProblem(f"name an environment with {flag} (available: {known})")
    # Names of tasks and of arguments are looked up in all; else what did not change is not loaded.
    everything = options.main_task or options.side_task or options.env_arg
    names = catalog.names if everything else changes.environments
    return [catalog.get(name, flag=flag) for name in names]


def _changes(options: RunOptions, catalog: Catalog) -> Changes | None:
    if options.changed_since is None:
        return None
    named_ones = [catalog.id_of(name, flag=options.flag("env")) for name in options.env]
    return changes_since(
        options.changed_since,
        catalog.directories,
        flag=options.flag("changed_since"),
        needed=named_ones,
    )


def _nothing_selected(options: RunOptions, environments: Sequence[Environment]) -> str:
    names = ", ".join(environment.id for environment in environments)
    return (
        f"nothing is selected in {names} for {options.flag('untrusted_policy')} "
        f"{options.untrusted_policy}"
    )


def _unused(environments: Sequence[Environment], combinations: Sequence[Combination]) -> list[str]:
    used = {combination.environment.id for combination in combinations}
    return [f"nothing of '{e.id}' is selected" for e in environments if e.id not in used]
