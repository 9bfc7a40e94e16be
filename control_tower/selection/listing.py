"""Combinations that a file lists: a task set, or the trajectory of an earlier run."""

from __future__ import annotations

from typing import Any

from control_tower.environments.discovery import PATH_VARIABLE, Catalog
from control_tower.errors import UsageProblem
from control_tower.run_options import RunOptions
from control_tower.selection.combinations import Combination
from control_tower.task_sets import Entry, TaskSet, combined, find_task_set
from control_tower.trajectories.finding import find_trajectory


def from_task_set(options: RunOptions, catalog: Catalog, notices: list[str]) -> list[Combination]:
    """The combinations of `--task-file`; environments given beside it leave the others out.

    Raises:
        UsageProblem: for a set that does not exist or a line that is wrong, with file and line.
    """
    # First of all: one that is given by its path brings task sets of its own.
    wanted = {catalog.id_of(name, flag=options.flag("env")) for name in options.env}
    task_set = find_task_set(str(options.task_file), catalog, flag=options.flag("task_file"))
    entries = [entry for entry in task_set.entries if not wanted or entry.env in wanted]
    left_out = len(task_set.entries) - len(entries)
    if wanted:
        _refuse_absent(options, task_set, wanted)
    if left_out:
        notices.append(f"{left_out} of '{task_set.name}' left out by {options.flag('env')}")
    return [_combination(task_set, entry, catalog) for entry in entries]


def from_trajectory(
    options: RunOptions, catalog: Catalog, notices: list[str]
) -> tuple[Combination, dict[str, Any]]:
    """The combination of `--trajectory-id`, and its environment's arguments.

    Arguments that the environment no longer has are left out, with a notice.

    Raises:
        UsageProblem: for a trajectory that is not found or not understood, or one whose
            environment or tasks do not exist here.
    """
    flag = options.flag("trajectory_id")
    name = str(options.trajectory_id)
    file, trajectory = find_trajectory(name, options.log_dir, flag=flag)
    main, side = (task.id if task else "" for task in (trajectory.main_task, trajectory.side_task))
    if not main and not side:
        raise UsageProblem(f"{flag} {name}: the trajectory names no task, so there is none to run")
    entry = Entry(env=trajectory.environment.id, main_task=main, side_task=side)
    if entry.env not in catalog.names:
        raise UsageProblem(
            f"{flag} {name}: it is of environment '{entry.env}', which is not found; name the "
            f"folder that it is in with {PATH_VARIABLE}"
        )
    combination = Combination(*combined(entry, catalog, flag=f"{flag} {name}"))
    recorded = trajectory.environment.args
    declared = combination.environment.info.args
    obsolete = [f"'{key}'" for key in recorded if key not in declared]
    if obsolete:
        notices.append(
            f"recorded arguments left out, which '{entry.env}' no longer has: "
            f"{', '.join(obsolete)} (of {file})"
        )
    return combination, {key: value for key, value in recorded.items() if key in declared}


def _combination(task_set: TaskSet, entry: Entry, catalog: Catalog) -> Combination:
    environment, main, side = combined(entry, catalog, flag=task_set.place(entry))
    return Combination(environment, main, side)


def _refuse_absent(options: RunOptions, task_set: TaskSet, wanted: set[str]) -> None:
    there = sorted({entry.env for entry in task_set.entries})
    for name in sorted(wanted - set(there)):
        raise UsageProblem(
            f"{options.flag('env')}: '{name}' is not in task set '{task_set.name}', "
            f"which has: {', '.join(there)}"
        )
