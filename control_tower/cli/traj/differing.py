"""`ct traj diff`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

import click

from control_tower.cli.recorded import log_dir_option, sample_option
from control_tower.cli.tables import print_lines, print_table
from control_tower.trajectories.comparing import (
    ActionDifference,
    Comparison,
    compare,
    first_differing_lines,
)
from control_tower.trajectories.lookup import find_recording, load
from control_tower.trajectories.schema import Trajectory

_SHOWN = 300
"""Characters of a line that differs."""
DIFFERENT = 1
"""The exit code when something differs, as that of `diff`."""


@click.command(short_help="Say where two trajectories part.")
@click.argument("first", metavar="TRAJ_LIKE")
@click.argument("second", metavar="TRAJ_LIKE")
@sample_option
@click.option("--json", "as_json", is_flag=True, help="The comparison as JSON.")
@log_dir_option
def diff(first: str, second: str, sample_id: str | None, as_json: bool, log_dir: str) -> int:
    """Say where two trajectories part: the first action that differs, and their scores.

    Ids, times, tokens and versions of packages do not count. The exit code is 1 if something
    differs, else 0.
    """
    flag = "TRAJ_LIKE"
    one, other = (
        load(find_recording(text, log_dir=log_dir, flag=flag, sample_id=sample_id), flag=flag)
        for text in (first, second)
    )
    comparison = compare(one, other)
    if as_json:
        print_lines([json.dumps(dataclasses.asdict(comparison))])
    else:
        _print(comparison, one, other)
    return 0 if comparison.same else DIFFERENT


def _print(comparison: Comparison, one: Trajectory, other: Trajectory) -> None:
    print_lines([f"first:  {one.trajectory_id}", f"second: {other.trajectory_id}"])
    if comparison.fields:
        click.echo()
        rows = [(each.name, each.first, each.second) for each in comparison.fields]
        print_table(("differs", "first", "second"), rows)
    click.echo()
    print_lines(_about_actions(comparison))
    if comparison.scores:
        click.echo()
        rows = [(f"{pair.task} task", pair.first, pair.second) for pair in comparison.scores]
        print_table(("score", "first", "second"), rows)


def _about_actions(comparison: Comparison) -> Iterator[str]:
    difference = comparison.action
    if difference is None:
        count = comparison.same_actions
        same = "the one action is" if count == 1 else f"all {count} actions are"
        yield f"{same} the same, outputs included"
        return
    if difference.step:
        same = "first action is" if difference.step == 1 else f"first {difference.step} actions are"
        yield f"the {same} the same, outputs included"
    yield from _difference(difference)


def _difference(difference: ActionDifference) -> Iterator[str]:
    step = difference.step
    if difference.part == "missing":
        ended = "first" if difference.first is None else "second"
        yield f"step {step}: the {ended} has ended before it"
        first, second = difference.first, difference.second
    elif difference.part == "call":
        yield f"step {step}: the calls differ"
        first, second = difference.first, difference.second
    else:
        number, first, second = first_differing_lines(
            difference.first or "", difference.second or ""
        )
        yield f"step {step}: the {difference.part}s differ, first in line {number}"
    yield f"  first:  {_shown(first)}"
    yield f"  second: {_shown(second)}"


def _shown(text: str | None) -> str:
    if text is None:
        return "(nothing)"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " …"
