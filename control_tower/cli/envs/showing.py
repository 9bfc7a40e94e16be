"""`ct envs list`, `ct envs show`, `ct envs tasks`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from control_tower.cli.tables import print_lines, print_table
from control_tower.environments.discovery import Catalog
from control_tower.environments.model import Environment, MainTask, SideTask
from control_tower.errors import UsageProblem


@click.command("list", short_help="List the environments that are found.")
def list_environments() -> None:
    """List the environments that are found, and where each of them is.

    They are looked for among the bundled ones, in the folders that CT_ENVIRONMENTS_PATH names, and
    in installed plugins. One whose files cannot be read is listed with the reason.
    """
    catalog = Catalog.discover()
    rows = [_row(catalog, name) for name in catalog.names]
    print_table(
        ("environment", "main tasks", "side tasks", "categories", "services", "portable", "place"),
        rows,
    )


def _row(catalog: Catalog, name: str) -> tuple[str, ...]:
    place = str(catalog.directories[name])
    try:
        environment = catalog.get(name, flag="ct envs list")
    except UsageProblem as problem:
        return (name, "-", "-", f"cannot be read: {problem}", "", "", place)
    tasks = environment.main_tasks.values()
    return (
        name,
        str(len(environment.main_tasks)),
        str(len(environment.side_tasks)),
        ", ".join(sorted({task.info.task_category for task in tasks})),
        ", ".join(environment.info.services),
        "no" if environment.info.portable is False else "yes",
        place,
    )


@click.command(short_help="Describe an environment.")
@click.argument("environment")
def show(environment: str) -> None:
    """Describe ENVIRONMENT, which is a name or the path of a folder."""
    found = Catalog.discover().get(environment, flag="ct envs show")
    print_lines(_description(found))
    click.echo()
    _print_tasks([found])


def _description(environment: Environment) -> Iterator[str]:
    info = environment.info
    portable = info.portable
    yield f"{environment.id}: {info.display_name}"
    yield info.short_description
    yield ""
    yield f"place:      {environment.directory}"
    yield f"built with: {', '.join(info.tech_stack) or 'not said'}"
    yield f"workspace:  {info.workspace}, agent's user {info.agent_user}"
    yield f"network:    {info.network}"
    needs = "no: docker only" if portable is False else f"yes, with {', '.join(portable) or '-'}"
    yield f"portable:   {needs}"
    for name, service in info.services.items():
        yield f"service:    {name}: {service.description or 'not described'}"
    for name, declared in info.args.items():
        more = f"; one of {', '.join(map(str, declared.choices))}" if declared.choices else ""
        about = f": {declared.description}" if declared.description else ""
        yield f"argument:   {name} ({declared.type}, default {declared.default}{more}){about}"


@click.command(short_help="List the tasks of environments.")
@click.argument("environments", nargs=-1, metavar="[ENVIRONMENT]...")
def tasks(environments: tuple[str, ...]) -> None:
    """List the main and side tasks of each ENVIRONMENT (a name or a path); of all, if none."""
    catalog = Catalog.discover()
    if environments:
        _print_tasks([catalog.get(name, flag="ct envs tasks") for name in environments])
        return
    readable: list[Environment] = []
    for name in catalog.names:
        try:
            readable.append(catalog.get(name, flag="ct envs tasks"))
        except UsageProblem as problem:
            click.echo(f"{name} cannot be read: {problem}", err=True)
    _print_tasks(readable)


def _print_tasks(environments: list[Environment]) -> None:
    print_table(
        ("task", "kind", "category", "goes with", "scorer", "reference", "about"),
        [row for environment in environments for row in _task_rows(environment)],
    )


def _task_rows(environment: Environment) -> Iterator[tuple[str, ...]]:
    for main in environment.main_tasks.values():
        sides = environment.side_tasks.values()
        goes = [side.id for side in sides if side.compatible_with(main.id)]
        everything = len(goes) == len(environment.side_tasks)
        with_what = ("all" if everything else ", ".join(goes)) if goes else "none"
        yield _task_row(environment, main, "main", main.info.task_category, with_what)
    for side in environment.side_tasks.values():
        allowed = side.info.compatible_main_tasks
        with_what = allowed if isinstance(allowed, str) else ", ".join(allowed) or "none"
        category = f"{side.info.task_category} ({side.info.failure_type})"
        yield _task_row(environment, side, "side", category, with_what)


def _task_row(
    environment: Environment, task: MainTask | SideTask, kind: str, category: str, with_what: str
) -> tuple[str, ...]:
    reference = task.solution if isinstance(task, MainTask) else task.attack
    return (
        f"{environment.id}/{task.id}",
        kind,
        category,
        with_what,
        "yes" if task.scorer else "no",
        "yes" if reference else "no",
        task.info.short_description or task.info.name,
    )
