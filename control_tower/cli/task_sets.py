"""`ct task-sets …`: what can be given to `--task-file`."""

from __future__ import annotations

import click

from control_tower.cli.main import LazyGroup
from control_tower.cli.tables import print_lines, print_table
from control_tower.environments.discovery import Catalog
from control_tower.errors import UsageProblem
from control_tower.task_sets import (
    find_task_set,
    known_task_sets,
    locate_task_set,
    problems_of_task_set,
    read_task_set,
)

_HERE = "control_tower.cli.task_sets"

task_sets = LazyGroup(
    {
        "list": (f"{_HERE}:list_sets", "List the task sets that are found."),
        "show": (f"{_HERE}:show", "Print the combinations of a task set."),
        "validate": (f"{_HERE}:validate", "Find everything that is wrong in task sets."),
    },
    name="task-sets",
    help="Look at and validate task sets, which --task-file takes.",
)


@click.command("list", short_help="List the task sets that are found.")
def list_sets() -> None:
    """List the task sets that have a name: the shipped ones, and those of environments."""
    catalog = Catalog.discover()
    rows: list[tuple[str, ...]] = []
    for name, file in known_task_sets(catalog).items():
        try:
            entries = read_task_set(file, name).entries
        except UsageProblem as problem:
            rows.append((name, "-", "-", f"cannot be read: {problem}", str(file)))
            continue
        attacks = sum(entry.side_task is not None for entry in entries)
        environments = ", ".join(sorted({entry.env for entry in entries}))
        rows.append((name, str(len(entries) - attacks), str(attacks), environments, str(file)))
    print_table(("task set", "honest", "attack", "environments", "file"), rows)


@click.command(short_help="Print the combinations of a task set.")
@click.argument("task_set")
def show(task_set: str) -> None:
    """Print the combinations of TASK_SET, a name or a file, as ENVIRONMENT/MAIN/SIDE."""
    found = find_task_set(task_set, Catalog.discover(), flag="ct task-sets show")
    print_lines(
        f"{entry.env}/{entry.main_task or '-'}/{entry.side_task or '-'}" for entry in found.entries
    )


@click.command(short_help="Find everything that is wrong in task sets.")
@click.argument("task_sets", nargs=-1, metavar="[TASK_SET]...")
def validate(task_sets: tuple[str, ...]) -> int:
    """Find everything that is wrong in each TASK_SET (a name or a file); in all, if none.

    Each fault is one line, with file and line. The exit code is 1 if there is any.
    """
    catalog = Catalog.discover()
    faults = 0
    for name in task_sets or known_task_sets(catalog):
        full, file = locate_task_set(name, catalog, flag="ct task-sets validate")
        problems = problems_of_task_set(file, catalog)
        faults += len(problems)
        entries = 0 if problems else len(read_task_set(file, full).entries)
        print_lines(problems or [f"{name}: ok ({entries} combinations)"])
    return 1 if faults else 0
