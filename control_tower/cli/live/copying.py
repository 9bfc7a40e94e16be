"""`ct live cp-to` and `cp-from`."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path

import click

from control_tower.cli.live.choosing import Failed, name_option, session_called
from control_tower.cli.tables import print_lines
from control_tower.errors import UsageProblem, user_path
from control_tower.live.copies import entry_for, packed
from control_tower.live.unpacking import unpack
from control_tower.live.wire import SessionFailed, connected


@click.command("cp-to", short_help="Copy a file or folder into the sandbox.")
@name_option
@click.argument("source", metavar="SOURCE")
@click.argument("target", metavar="TARGET")
def copy_to(name: str | None, source: str, target: str) -> None:
    """Copy the file or folder SOURCE into the sandbox, as the agent's own.

    TARGET is its new name, from the workspace on, or a folder that it goes into. It is recorded as
    a step whose script has the contents; what is bigger than 1 MiB, as one that cannot be done
    again.
    """
    path = user_path(source, flag="SOURCE")
    if not path.exists():
        raise UsageProblem(f"SOURCE: there is no '{source}'")
    if not (path.is_file() or path.is_dir()):
        raise UsageProblem(f"SOURCE: '{source}' is neither a file nor a folder")
    archive = packed(path)
    entry = entry_for(path, archive)
    header = {
        "do": "put",
        "target": target,
        "name": os.path.basename(os.path.abspath(path)),
        "entry": entry.model_dump(),
    }
    try:
        with connected(session_called(name)) as (_, connection):
            answer, _ = connection.ask(header, archive)
    except SessionFailed as failure:
        raise Failed(f"{source} was not copied: {failure}") from None
    print_lines([f"{source} is {answer['place']}"])
    if entry.problem:
        print_lines([f"{entry.problem}: no reference can have it"])


@click.command("cp-from", short_help="Copy a file or folder out of the sandbox.")
@name_option
@click.argument("source", metavar="SOURCE")
@click.argument("target", metavar="[TARGET]", default=".")
def copy_from(name: str | None, source: str, target: str) -> None:
    """Copy the file or folder SOURCE, from the workspace on, out of the sandbox.

    TARGET is its new name or a folder that it goes into; without one, the current folder. A file
    takes the place of one that is there, as with cp; a folder does not. Links that lead elsewhere
    and devices are refused.
    """
    place = user_path(target, flag="TARGET")
    if not (place.is_dir() or place.absolute().parent.is_dir()):
        raise UsageProblem(f"TARGET: there is no folder '{Path(target).parent}'")
    try:
        with connected(session_called(name)) as (session, connection):
            _, archive = connection.ask({"do": "get", "path": source})
    except SessionFailed as failure:
        raise Failed(f"{source} was not copied: {failure}") from None
    called = posixpath.basename(posixpath.normpath(posixpath.join(session.workspace, source)))
    print_lines([f"{source} is {unpack(archive, place, name=called)}"])
