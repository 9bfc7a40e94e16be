"""`ct traj export`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from control_tower.cli.recorded import (
    filter_options,
    filtered,
    filters_of,
    log_dir_option,
    sample_option,
)
from control_tower.cli.tables import printable
from control_tower.errors import UsageProblem, user_path
from control_tower.trajectories.exporting.columns import TABLES
from control_tower.trajectories.exporting.tables import WRITERS
from control_tower.trajectories.lookup import load
from control_tower.trajectories.schema import Trajectory
from control_tower.trajectories.sources import LOG_ENDING, Recording

_FLAG = "--output"
_LOG_ENDINGS = (LOG_ENDING, ".json")


@click.command(short_help="Write trajectories into a table or an Inspect log.")
@click.argument("traj_like", nargs=-1, metavar="[TRAJ_LIKE]...")
@click.option(
    "-o",
    _FLAG,
    required=True,
    metavar="FILE",
    help="Where to. The ending says in which form: .parquet and .csv are tables, .eval and .json "
    "Inspect logs.",
)
@click.option(
    "--table",
    type=click.Choice(sorted(TABLES)),
    help="Of a table: one row a trajectory (trajectories), or one an action (actions). "
    "[default: trajectories]",
)
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
@filter_options
@sample_option
@log_dir_option
def export(
    traj_like: tuple[str, ...],
    output: str,
    table: str | None,
    force: bool,
    sample_id: str | None,
    log_dir: str,
    **values: Any,
) -> None:
    """Write trajectories into a table for data frames, or into an Inspect log.

    Those of TRAJ_LIKE, or of all runs in the log directory. `inspect view --log-dir FOLDER` shows
    an `.eval` log. Parquet needs pyarrow, which the extra `export` installs.
    """
    target = user_path(output, flag=_FLAG)
    write = _writer(target, table)
    _refuse_place(target, force=force)
    found = filtered(traj_like, filters_of(values), log_dir=log_dir, sample_id=sample_id)
    if not found:
        raise UsageProblem("nothing is recorded that this asks for, so there is nothing to export")
    # The ending stays: it says in which form the file is.
    unfinished = target.with_name(f".{secrets.token_hex(4)}-{target.name}")
    try:
        count = write(unfinished, found)
        unfinished.replace(target)
    except OSError as error:
        raise UsageProblem(f"{_FLAG}: {target} cannot be written: {error}") from None
    finally:
        with suppress(OSError):
            unfinished.unlink()
    click.echo(printable(f"{target}: {count}"))


def _writer(target: Path, table: str | None) -> Callable[[Path, Sequence[Recording]], str]:
    """What writes a file of that name; it returns how much of what it wrote."""
    if target.suffix in WRITERS:
        columns = TABLES[table or "trajectories"]

        def write_table(path: Path, found: Sequence[Recording]) -> str:
            rows = WRITERS[target.suffix](path, columns, _loaded(found))
            return f"{rows} row{'' if rows == 1 else 's'}"

        return write_table
    if target.suffix not in _LOG_ENDINGS:
        endings = ", ".join([*WRITERS, *_LOG_ENDINGS])
        raise UsageProblem(
            f"{_FLAG}: '{target.name}' has no ending that says the form; end it in {endings}"
        )
    if table is not None:
        raise UsageProblem(
            f"--table {table} is of a table, and '{target.name}' is an Inspect log; leave out one"
        )

    def write_log(path: Path, found: Sequence[Recording]) -> str:
        from control_tower.trajectories.exporting.inspect_logs import write_inspect_log

        samples = write_inspect_log(path, list(_loaded(found)))
        return f"{samples} sample{'' if samples == 1 else 's'}"

    return write_log


def _refuse_place(target: Path, *, force: bool) -> None:
    if not target.parent.is_dir():
        raise UsageProblem(f"{_FLAG}: there is no folder '{target.parent}'")
    if target.is_dir():
        raise UsageProblem(f"{_FLAG}: '{target}' is a folder; name a file in it")
    if target.exists() and not force:
        raise UsageProblem(f"{_FLAG}: '{target}' is there; add --force to overwrite it")


def _loaded(found: Sequence[Recording]) -> Iterator[Trajectory]:
    return (load(recording, flag="TRAJ_LIKE") for recording in found)
