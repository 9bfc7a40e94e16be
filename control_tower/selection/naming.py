"""Tasks that are named: `--main-task` and `--side-task`, in the environments that have them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem, unknown_name
from control_tower.run_options import RunOptions
from control_tower.selection.combinations import Combination


def named(options: RunOptions, environments: Sequence[Environment]) -> list[Combination]:
    """Each environment's product of its named main tasks and its named side tasks.

    Raises:
        UsageProblem: for a name that no environment has, a pair that does not go together, or a
            name that would be left out because it pairs with none.
    """
    main_flag, side_flag = options.flag("main_task"), options.flag("side_task")
    mains = _owners(options.main_task, "main task", environments, flag=main_flag)
    sides = _owners(options.side_task, "side task", environments, flag=side_flag)
    found: dict[str, Combination] = {}
    for environment in environments:
        main_names = [name for owner, name in mains if owner == environment.id]
        side_names = [name for owner, name in sides if owner == environment.id]
        if bool(main_names) < bool(options.main_task) or bool(side_names) < bool(options.side_task):
            continue
        mains_here = [environment.main_tasks[name] for name in main_names]
        sides_here = [environment.side_tasks[name] for name in side_names]
        for main, side in product(mains_here or (None,), sides_here or (None,)):
            combination = Combination(environment, main, side)
            refuse_incompatible(combination, flag=side_flag)
            found[combination.id] = combination
    _refuse_unpaired_names(options, list(found.values()))
    return list(found.values())


def refuse_incompatible(combination: Combination, *, flag: str) -> None:
    """Refuse a named pair that does not go together.

    Raises:
        UsageProblem: with the main tasks that the side task goes with.
    """
    main, side = combination.main_task, combination.side_task
    if main is None or side is None or combination.goes_together:
        return
    allowed = ", ".join(side.info.compatible_main_tasks) or "none"
    raise UsageProblem(
        f"{flag}: '{side.id}' does not go with main task '{main.id}'; it goes with: {allowed}"
    )


def _refuse_unpaired_names(options: RunOptions, found: Sequence[Combination]) -> None:
    """Every named task is in a combination, or it was paired with another environment's."""
    for key, other in (("main_task", "side_task"), ("side_task", "main_task")):
        used = {f"{c.environment.id}/{task.id}" for c in found if (task := getattr(c, key))}
        for name in getattr(options, key):
            if not any(name in (task, task.partition("/")[2]) for task in used):
                raise UsageProblem(
                    f"{options.flag(key)}: '{name}' pairs with no {options.flag(other)} given: "
                    "the two must be of one environment"
                )


def _owners(
    names: Sequence[str], kind: str, environments: Sequence[Environment], *, flag: str
) -> list[tuple[str, str]]:
    """(environment id, task id) for each environment that has a named task."""
    have = {
        environment.id: list(
            environment.main_tasks if kind == "main task" else environment.side_tasks
        )
        for environment in environments
    }
    owners: list[tuple[str, str]] = []
    for name in names:
        prefix, slash, task = name.partition("/")
        if slash:
            if prefix not in have:
                raise unknown_name("selected environment", prefix, have, flag=flag)
            if task not in have[prefix]:
                raise unknown_name(f"{kind} of {prefix}", task, have[prefix], flag=flag)
            owners.append((prefix, task))
            continue
        holders = [environment for environment, tasks in have.items() if name in tasks]
        if not holders:
            everything = [task for tasks in have.values() for task in tasks]
            raise unknown_name(kind, name, everything, flag=flag)
        owners += [(holder, name) for holder in holders]
    return owners
