"""`ct envs changed`: what a git diff touches."""

from __future__ import annotations

import click

from control_tower.cli.tables import print_lines
from control_tower.environments.changes import changes_since
from control_tower.environments.discovery import Catalog


@click.command(short_help="List the environments and tasks that a git diff touches.")
@click.option("--since", required=True, metavar="REV", help="The revision to compare with.")
def changed(since: str) -> None:
    """List the environments and tasks that changed since the current branch left REV.

    Uncommitted changes and new files count. A line is an environment, when something changed that
    all of its tasks depend on, or ENVIRONMENT/main_tasks/TASK or ENVIRONMENT/side_tasks/TASK.
    """
    changes = changes_since(since, Catalog.discover().directories, flag="--since")
    lines: list[str] = []
    for name in changes.environments:
        touched = changes.touched[name]
        if touched.whole:
            lines.append(name)
            continue
        lines += [f"{name}/main_tasks/{task}" for task in sorted(touched.main)]
        lines += [f"{name}/side_tasks/{task}" for task in sorted(touched.side)]
    print_lines(lines)
    if not lines:
        click.echo(changes.nothing(), err=True)
