"""`ct envs validate`: everything that is wrong in the files, at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from control_tower.cli.tables import print_lines
from control_tower.environments.discovery import Catalog
from control_tower.environments.problems import Problem
from control_tower.environments.validation import validate_environment
from control_tower.errors import current_folder
from control_tower.sandboxes.docker.chosen import compose_problems
from control_tower.task_sets import IN_ENVIRONMENT, problems_of_task_set, sets_in


@click.command(short_help="Find everything that is wrong in an environment's files.")
@click.argument("environments", nargs=-1, metavar="[ENVIRONMENT]...")
def validate(environments: tuple[str, ...]) -> int:
    """Find everything that is wrong in the files of each ENVIRONMENT; nothing is run.

    ENVIRONMENT is a name or the path of a folder; without one, all that are found are validated.
    Each fault is one line, with file and line. The exit code is 1 if there is any.
    """
    catalog = Catalog.discover()
    names = [catalog.id_of(name, flag="ct envs validate") for name in environments]
    faults = 0
    for name in dict.fromkeys(names or catalog.names):
        faults += report_faults(catalog, name)
    return 1 if faults else 0


def report_faults(catalog: Catalog, name: str) -> int:
    """Validate one environment and print what is wrong, or that nothing is; returns how much.

    What `docker compose` and we think of the compose file is asked when all else is right.
    """
    from control_tower.scoring.wrapper import load_scorer

    directory = catalog.directories[name]
    problems = [str(p) for p in _shown(validate_environment(directory, load_scorer))]
    problems += _problems_of_task_sets(directory, None if problems else catalog)
    if not problems:
        found = catalog.get(name, flag="ct envs validate")
        file = found.compose_file
        problems += [f"{_from_here(file)}: {problem}" for problem in compose_problems(found)]
    if not problems:
        tasks = f"main tasks: {len(found.main_tasks)}, side tasks: {len(found.side_tasks)}"
        click.echo(f"{name}: ok ({tasks})")
        return 0
    print_lines(problems)
    click.echo(f"{name}: {len(problems)} problem{'s' if len(problems) > 1 else ''}")
    return len(problems)


def _shown(problems: list[Problem]) -> list[Problem]:
    """With paths as seen from the current folder, where that is shorter."""
    return [replace(problem, file=_from_here(problem.file)) for problem in problems]


def _from_here(path: Path) -> Path:
    here = current_folder()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _problems_of_task_sets(directory: Path, catalog: Catalog | None) -> list[str]:
    """Of names, too, if there is a catalog: what is at fault cannot be loaded for them."""
    folder = _from_here(directory / IN_ENVIRONMENT)
    try:
        files = sets_in(folder)
    except OSError as error:
        return [f"{folder}: cannot be read: {error.strerror}"]
    return [problem for file in files for problem in problems_of_task_set(file, catalog)]
