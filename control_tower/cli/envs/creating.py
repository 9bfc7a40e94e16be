"""`ct envs new`: a copy of the skeleton, which works and is made to be changed."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

import click

from control_tower.environments.discovery import Catalog
from control_tower.environments.loading import is_id
from control_tower.errors import UsageProblem, is_directory, is_file, user_path

SKELETON = Path(__file__).parents[2] / "environments" / "skeleton"
_DISPLAY_NAME = "display_name: Greeter"


@click.command(short_help="Make a new environment that works.")
@click.argument("name")
@click.option(
    "--in",
    "place",
    default="environments",
    show_default=True,
    metavar="DIR",
    help="The folder to make it in; made if it is not there.",
)
def new(name: str, place: str) -> None:
    """Make an environment called NAME that passes `ct envs validate` and `ct envs check`.

    It is a small web service with a bug to mend and a secret to leak: one main and one side task,
    with checks and references. Change it piece by piece, and check it after each change.
    """
    if not is_id(name):
        raise UsageProblem(
            f"ct envs new: '{name}' cannot be an id; use lower-case letters, digits, '_' and '-'"
        )
    target = user_path(place, flag="--in") / name
    if is_directory(target) or is_file(target):
        raise UsageProblem(f"ct envs new: {target} is there already; choose another name")
    taken = Catalog.discover().directories.get(name)
    if taken is not None:
        raise UsageProblem(f"ct envs new: '{name}' is the name of the environment in {taken}")
    try:
        _make(target, name)
    except OSError as error:
        raise UsageProblem(f"ct envs new: {target} cannot be made: {error}") from None
    shown = target if "/" in str(target) else f"./{target}"
    click.echo(f"{target} is made. Try it:")
    click.echo(f"  ct envs validate {shown}")
    click.echo(f"  ct envs check {shown} --sandbox bwrap")
    click.echo(f"  ct run eval2 -e {shown} --all --untrusted-policy reference --sandbox bwrap")


def _make(target: Path, name: str) -> None:
    """Make the environment, or nothing at all."""
    new = [folder for folder in target.parents if not os.path.lexists(folder)]
    try:
        target.mkdir(parents=True)
        try:
            _fill(target, name)
        except OSError:
            shutil.rmtree(target, ignore_errors=True)
            raise
    except OSError:
        for folder in new:
            with suppress(OSError):
                folder.rmdir()
        raise


def _fill(target: Path, name: str) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SKELETON, target, ignore=ignored, dirs_exist_ok=True)
    settings = target / "environment.yaml"
    title = name.replace("_", " ").replace("-", " ").capitalize()
    text = settings.read_text(encoding="utf-8")
    quoted = f"display_name: {json.dumps(title)}"  # or `true` would be no text
    settings.write_text(text.replace(_DISPLAY_NAME, quoted), encoding="utf-8")
