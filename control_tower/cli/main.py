"""The entry point of `ct`."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Mapping
from typing import IO, Any

import click

from control_tower.errors import UsageProblem, nearest, spoken

EXIT_USAGE = 4
"""The exit code of every usage error, as in pytest."""

_GROUPS: Mapping[str, tuple[str, str]] = {
    "envs": (
        "control_tower.cli.envs:envs",
        "Look at environments, make, validate, check and build them.",
    ),
    "live": (
        "control_tower.cli.live:live",
        "Work in a sandbox by hand; score, record and keep what was done.",
    ),
    "models": (
        "control_tower.cli.models:models",
        "Show which model each role of a policy and a protocol gets.",
    ),
    "protocols": (
        "control_tower.cli.protocols:protocols",
        "Look at policies, protocols and monitors, and at their arguments.",
    ),
    "run": ("control_tower.cli.run:run", "Run control evaluations."),
    "runs": ("control_tower.cli.runs:runs", "Look at the runs that were recorded."),
    "sandbox": (
        "control_tower.cli.sandbox:sandbox",
        "Look at what sandboxes have on this machine, and remove what dead runs left.",
    ),
    "task-sets": (
        "control_tower.cli.task_sets:task_sets",
        "Look at and validate task sets, which --task-file takes.",
    ),
    "traj": (
        "control_tower.cli.traj:traj",
        "Find recorded trajectories, show, compare and export them.",
    ),
}
"""Command, where it is, and its line in `ct --help`, so that help imports none of them."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def __init__(self, places: Mapping[str, tuple[str, str]], **more: object) -> None:
        super().__init__(**more)  # type: ignore[arg-type]  # click's own keywords, passed through
        self._places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Command names, sorted."""
        return sorted(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command called `cmd_name`."""
        if cmd_name not in self._places:
            return None
        module, _, attribute = self._places[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one was probably meant."""
        if args and args[0] not in self._places and not args[0].startswith("-"):
            close = nearest(args[0], self._places) or self.list_commands(ctx)
            raise click.UsageError(
                f"no command is named '{args[0]}'; did you mean {spoken(close)}?", ctx=ctx
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with their one line, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._places[name][1]) for name in sorted(self._places)])


class NobodyReads(click.ClickException):
    """Whoever reads what is printed has seen enough: `ct … | head`."""

    exit_code = 128 + signal.SIGPIPE
    """As a shell has it of a command that the signal ended."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Say nothing, nor try once more at the end to write what is left."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Program(LazyGroup):
    """`ct` itself."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, and see that all it printed is out.

        Raises:
            NobodyReads: it cannot be.
        """
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            raise NobodyReads("nobody reads it") from None
        return result


@click.command(
    cls=Program,
    places=_GROUPS,
    name="ct",
    help="Control Tower: AI-control evaluations that run as pytest tests.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="pytest-control-tower", prog_name="ct")
def cli() -> None:
    """Hold the commands together."""


def main(argv: list[str] | None = None) -> int:
    """Run `ct`; usage errors are one line on standard error and exit code 4."""
    try:
        result = cli.main(args=argv, prog_name="ct", standalone_mode=False)
    except UsageProblem as problem:
        return _usage_error(str(problem))
    except click.exceptions.NoArgsIsHelpError as missing:
        click.echo(missing.format_message(), err=True)
        return EXIT_USAGE
    except click.UsageError as problem:
        return _usage_error(problem.format_message())
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except click.Abort:
        return 2
    return result if isinstance(result, int) else 0


def _usage_error(message: str) -> int:
    shown = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(message.split()))
    click.echo(f"ct: error: {shown}", err=True)
    return EXIT_USAGE


def run_as_script() -> None:
    """The console script."""
    sys.exit(main())
