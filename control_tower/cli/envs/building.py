"""`ct envs build`: the images of environments, made before anybody waits for them."""

from __future__ import annotations

import click

from control_tower.cli.tables import print_lines
from control_tower.environments.discovery import Catalog
from control_tower.errors import UsageProblem
from control_tower.sandboxes.choice import choose_sandbox
from control_tower.sandboxes.settings import SandboxSettings


@click.command(short_help="Build the images of environments.")
@click.argument("environments", nargs=-1, metavar="[ENVIRONMENT]...")
def build(environments: tuple[str, ...]) -> int:
    """Build or pull the images of each ENVIRONMENT (a name or a path); of all, if none.

    A run does this by itself. Images that are there, and whose files did not change, are left. The
    exit code is 1 if an image could not be made; the others are made all the same.
    """
    catalog = Catalog.discover()
    names = [catalog.id_of(name, flag="ct envs build") for name in environments]
    problems = {name: _build(catalog, name) for name in dict.fromkeys(names or catalog.names)}
    return 1 if any(problems.values()) else 0


def _build(catalog: Catalog, name: str) -> str | None:
    """Make the images of one environment, and say how that went; what was wrong, if anything."""
    docker = choose_sandbox("docker", SandboxSettings(), flags=lambda key: "ct envs build:")
    try:
        environment = catalog.get(name, flag="ct envs build")
        docker.refuse_unfit(environment)
        docker.preflight([environment], samples_at_once=1)
        problem = docker.provide([environment])[environment.id].problem
    except UsageProblem as refusal:
        problem = str(refusal)
    print_lines(f"{name}: {line}" for line in (problem or "ok").splitlines())
    return problem
