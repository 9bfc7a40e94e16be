"""`ct traj list`."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from control_tower.cli.recorded import (
    filter_options,
    filtered,
    filters_of,
    log_dir_option,
    success_mark,
)
from control_tower.cli.tables import print_lines, print_table
from control_tower.trajectories.sources import Recording

_SHORTEST = 8
"""Characters of the shortest ids that are shown."""
_HEADINGS = (
    "id",
    "sample",
    "run",
    "policy",
    "protocol",
    "outcome",
    "main",
    "side",
    "caught",
    "suspicion",
    "actions",
    "when",
)


@click.command("list", short_help="List recorded trajectories.")
@click.argument("traj_like", nargs=-1, metavar="[TRAJ_LIKE]...")
@filter_options
@click.option("--limit", type=click.IntRange(1), metavar="N", help="The first N only.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object a line, with whole ids.")
@click.option("--ids", is_flag=True, help="The ids alone, for scripts.")
@log_dir_option
def list_trajectories(
    traj_like: tuple[str, ...],
    limit: int | None,
    as_json: bool,
    ids: bool,
    log_dir: str,
    **values: Any,
) -> None:
    """List recorded trajectories: those of TRAJ_LIKE, or of all runs in the log directory.

    The newest run comes first. Ids are cut as short as they can be told apart by; every command
    takes them so. Of a success, - is: not scored.
    """
    found = filtered(traj_like, filters_of(values), log_dir=log_dir)[:limit]
    if as_json:
        print_lines(json.dumps(_as_json(recording)) for recording in found)
    elif ids:
        print_lines(recording.summary.trajectory_id for recording in found)
    elif found:
        shown = _short([recording.summary.trajectory_id for recording in found])
        print_table(_HEADINGS, [_row(*pair) for pair in zip(found, shown, strict=True)])
    else:
        click.echo("nothing is recorded that this asks for", err=True)


def _as_json(recording: Recording) -> dict[str, Any]:
    return {**recording.summary.to_json(), "reference": recording.reference}


def _row(recording: Recording, id: str) -> tuple[str, ...]:
    summary = recording.summary
    at = summary.recorded_at
    return (
        id,
        summary.sample_id,
        summary.run_id or "-",
        summary.policy or "-",
        summary.protocol or "-",
        summary.outcome,
        success_mark(summary.main_task_success),
        success_mark(summary.side_task_success),
        "yes" if summary.caught else "-",
        "-" if summary.max_suspicion is None else f"{summary.max_suspicion:.3g}",
        "-" if summary.actions is None else str(summary.actions),
        "-" if at is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(at)),
    )


def _short(ids: list[str]) -> list[str]:
    """The ids, cut as short as they can be told apart by."""
    whole = set(ids)
    length = _SHORTEST
    while len({id[:length] for id in whole}) < len(whole):
        length += 1
    return [id[:length] for id in ids]
