"""What commands about recorded trajectories have in common: where to look, what to take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from control_tower.cli.tables import printable
from control_tower.errors import UsageProblem, is_directory, user_path
from control_tower.trajectories.filters import OUTCOMES, Filters, check_filters
from control_tower.trajectories.lookup import find_recordings, recorded_runs
from control_tower.trajectories.sources import Recording

F = TypeVar("F", bound=Callable[..., Any])

SAMPLE_FLAG = "--sample-id"
log_dir_option = click.option(
    "--log-dir",
    default="logs",
    show_default=True,
    metavar="DIRECTORY",
    help="Directory in whose runs ids are looked up.",
)
sample_option = click.option(
    SAMPLE_FLAG,
    metavar="ID",
    help="Of a run or an Inspect log, the sample with this id (ENVIRONMENT/MAIN/SIDE, with @2 for "
    "epoch 2) or unique id.",
)

_FILTERS: dict[str, tuple[tuple[str, ...], str]] = {
    "environments": (("-e", "--env"), "Only of this environment."),
    "tasks": (("--task",), "Only with this main or side task."),
    "policies": (("--policy",), "Only of this policy."),
    "protocols": (("--protocol",), "Only under this protocol."),
    "tags": (("--tag",), "Only with this tag."),
    "outcomes": (("--outcome",), f"Only of this outcome: {', '.join(OUTCOMES)}."),
    "runs": (("--run",), "Only of the run whose id begins so, or that was called so."),
}
"""Fields of `Filters`: their flags, and what help says."""


def filter_options(command: F) -> F:
    """Give a command the options that filter; repeated ones take any of their values."""
    for field, (flags, text) in reversed(_FILTERS.items()):
        option = click.option(
            *flags, field, multiple=True, help=f"{text} Repeat for several.", metavar="NAME"
        )
        command = option(command)
    return command


def filters_of(values: dict[str, Any]) -> Filters:
    """Take the filters out of a command's values."""
    return Filters(**{field: values.pop(field) for field in _FILTERS})


def filtered(
    texts: Sequence[str], filters: Filters, *, log_dir: str, sample_id: str | None = None
) -> list[Recording]:
    """The recordings that texts stand for, or all below the log directory; then the filters.

    Raises:
        UsageProblem: for a text that stands for none, or a filter that nothing recorded has.
    """
    if texts:
        named = [
            recording
            for text in texts
            for recording in find_recordings(
                text, log_dir=log_dir, flag="TRAJ_LIKE", sample_id=sample_id
            )
        ]
        found = list({recording.reference: recording for recording in named}.values())
    elif not is_directory(user_path(log_dir, flag="--log-dir")):
        raise UsageProblem(
            f"--log-dir: there is no folder '{log_dir}', so nothing is recorded in it"
        )
    else:
        there = recorded_runs(log_dir, flag="--log-dir")
        found = list(there.recordings)
        for problem in there.unreadable:
            click.echo(printable(f"left out: {problem}"), err=True)
    flags = {field: flags[-1] for field, (flags, _) in _FILTERS.items()}
    check_filters(filters, (r.summary for r in found), flags=flags)
    return [recording for recording in found if filters.takes(recording.summary)]


def success_mark(success: bool | None) -> str:
    """A success for a table."""
    return {True: "yes", False: "no", None: "-"}[success]
