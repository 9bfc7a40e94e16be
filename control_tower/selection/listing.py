"""Combinations that a task set lists."""

from __future__ import annotations

from control_tower.environments.discovery import Catalog
from control_tower.errors import UsageProblem
from control_tower.run_options import RunOptions
from control_tower.selection.combinations import Combination
from control_tower.task_sets import Entry, TaskSet, combined, find_task_set


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
