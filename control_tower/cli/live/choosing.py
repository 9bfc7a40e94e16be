"""Which session a command is about."""

from __future__ import annotations

import click

from control_tower.cli.tables import printable
from control_tower.live.session import SessionFolder
from control_tower.live.sessions import Sessions

name_option = click.option(
    "-n",
    "--name",
    metavar="NAME",
    help="The session, where it is not the current one (`ct live status` shows which that is).",
)


def session_called(name: str | None) -> SessionFolder:
    """The session of that name, or the current one.

    Raises:
        UsageProblem: there is none.
    """
    return Sessions().find(name)


class Failed(click.ClickException):
    """Something that was tried did not work: a line on standard error, and exit code 1."""

    def show(self, file: object = None) -> None:
        """Print it as `ct` prints its usage errors; what a sandbox said may be a part of it."""
        text = "\n".join(map(printable, self.message.splitlines()))
        click.echo(f"ct: error: {text}", err=True)
