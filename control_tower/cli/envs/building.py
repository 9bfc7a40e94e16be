"""`ct envs build`: the images of environments, made before anybody waits for them."""

from __future__ import annotations

import click

from control_tower.cli.tables import print_lines
from control_tower.environments.discovery import Catalog
from control_tower.errors import UsageProblem
from control_tower.sandboxes.choice import choose_sandbox


@click.command(short_help="Build the images of environments.")
@click.argument("environments", nargs=-1, metavar="[ENVIRONMENT]...")
def build(environments: tuple[str, ...]) -> int:
    """Build or pull the images of each ENVIRONMENT (a name or a path); of all, if none.

    A run does this by itself. Images that are there, and whose files did not change, are left. The
    exit code is 1 if an image could not be made; the others are made all the same.
    """
    catalog = Catalog.discover()
    names = environments or catalog.names
    found = [catalog.get(name, flag="ct envs build") for name in names]
    docker = choose_sandbox("docker", flag="ct envs build:")
    with_compose = [environment for environment in found if environment.compose_file.is_file()]
    for environment in found:
        if environment not in with_compose:
            if environments:
                docker.refuse_unfit(environment, flag="ct envs build:")
            click.echo(f"{environment.id}: has no codebase/compose.yml")
    docker.preflight(with_compose, flag="ct envs build:", samples_at_once=1)
    failed = 0
    for environment in with_compose:
        try:
            problem = docker.provide([environment])[environment.id].problem
        except UsageProblem as refusal:
            problem = str(refusal)
        failed += problem is not None
        print_lines([problem or f"{environment.id}: ok"])
    return 1 if failed else 0
