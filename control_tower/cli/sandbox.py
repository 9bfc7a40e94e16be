"""`ct sandbox …`: what sandboxes left, or still have, on this machine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from control_tower.cli.main import LazyGroup
from control_tower.cli.tables import print_lines, print_table
from control_tower.errors import UsageProblem
from control_tower.sandboxes.errors import SandboxRefused

if TYPE_CHECKING:
    from control_tower.sandboxes.inventory import Item

sandbox = LazyGroup(
    {
        "list": (
            "control_tower.cli.sandbox:list_sandboxes",
            "List what sandboxes have on this machine, and whether their run lives.",
        ),
        "clean": (
            "control_tower.cli.sandbox:clean_sandboxes",
            "Remove what runs left that are dead; of others nothing is touched.",
        ),
    },
    name="sandbox",
    help="Look at what sandboxes have on this machine, and remove what dead runs left.",
)


@click.command("list", short_help="List what sandboxes have on this machine.")
def list_sandboxes() -> int:
    """List what sandboxes have on this machine, and whether their run lives.

    Containers, networks and volumes in the Docker engine, and rules of the firewall on its host,
    whoever made them; processes of bwrap sandboxes and state directories, of this user. A run has a
    process for each of its workers.
    """
    from control_tower.sandboxes.inventory import inventory

    try:
        found = inventory()
    except (SandboxRefused, OSError) as problem:
        raise UsageProblem(f"ct sandbox list: {problem}") from None
    if found.items:
        headings = ("kind", "name", "environment", "run", "made by", "which is", "since")
        print_table(headings, [_row(item) for item in found.items])
    print_lines(found.unseen)
    if not found.items and not found.unseen:
        print_lines(["nothing"])
    return 0


@click.command("clean", short_help="Remove what dead runs left.")
def clean_sandboxes() -> int:
    """Remove what runs left that are dead, of this user on this machine, and say what that was.

    Nothing of a run that lives is touched. Every run does the same before it starts, but for
    searching the firewall of the engine's host for rules whose run left nothing else.
    """
    from control_tower.sandboxes.inventory import clean

    try:
        done = clean()
    except (SandboxRefused, OSError) as problem:
        raise UsageProblem(f"ct sandbox clean: {problem}") from None
    print_lines(f"removed: {each}" for each in done.removed)
    print_lines(done.stays)
    if not done.removed and not done.stays:
        print_lines(["nothing to remove"])
    return 0


def _row(item: Item) -> tuple[str, ...]:
    state = {True: "alive", False: "dead", None: "not known here"}[item.alive]
    since = "-"
    if item.since is not None:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(item.since))
    run, environment = item.run or "-", item.environment or "-"
    return (item.kind, item.name, environment, run, item.owner, state, since)
