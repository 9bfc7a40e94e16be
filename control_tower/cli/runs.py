"""`ct runs …`: the runs that were recorded."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from control_tower.cli.main import LazyGroup
from control_tower.cli.recorded import (
    filter_options,
    filtered,
    filters_of,
    log_dir_option,
    success_mark,
)
from control_tower.cli.tables import print_lines, print_table
from control_tower.trajectories.filters import Filters
from control_tower.trajectories.runs import Run, find_run, runs_of

runs = LazyGroup(
    {
        "list": ("control_tower.cli.runs:list_runs", "List the runs, newest first."),
        "show": ("control_tower.cli.runs:show_run", "Show a run and its samples."),
    },
    name="runs",
    help="Look at the runs that were recorded.",
)


@click.command("list", short_help="List the runs, newest first.")
@filter_options
@click.option("--json", "as_json", is_flag=True, help="A JSON object a line.")
@log_dir_option
def list_runs(as_json: bool, log_dir: str, **values: Any) -> None:
    """List the runs in the log directory, newest first.

    With filters, only samples that they take count. Successes are of scored samples.
    """
    found = runs_of(filtered((), filters_of(values), log_dir=log_dir))
    if as_json:
        print_lines(json.dumps(_as_json(run)) for run in found)
    elif found:
        headings = ("run", "name", "when", "policy", "protocol", "environments", "samples", "main",
                    "side", "not scored", "directory")  # fmt: skip
        print_table(headings, [_row(run) for run in found])
    else:
        click.echo("no run is recorded that this asks for", err=True)


@click.command("show", short_help="Show a run and its samples.")
@click.argument("run", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
@log_dir_option
def show_run(run: str, as_json: bool, log_dir: str) -> None:
    """Show a run and its samples. RUN: its id or the beginning of that, its name or its folder."""
    found = find_run(run, runs_of(filtered((), Filters(), log_dir=log_dir)), flag="RUN")
    if as_json:
        samples = [recording.summary.to_json() for recording in found.recordings]
        print_lines([json.dumps({**_as_json(found), "samples": samples})])
        return
    print_lines(_description(found))
    click.echo()
    rows = [
        (
            s.sample_id,
            s.trajectory_id,
            s.outcome,
            success_mark(s.main_task_success),
            success_mark(s.side_task_success),
            "yes" if s.caught else "-",
            str(s.actions),
        )
        for s in (recording.summary for recording in found.recordings)
    ]
    print_table(("sample", "trajectory", "outcome", "main", "side", "caught", "actions"), rows)


def _description(run: Run) -> Iterator[str]:
    yield f"run:       {run.run_id or '-'}"
    if run.name:
        yield f"name:      {run.name}"
    yield f"when:      {_when(run)}"
    yield f"policy:    {run.named('policy')}"
    yield f"protocol:  {run.named('protocol')}"
    yield f"sandbox:   {run.named('sandbox')}"
    yield f"directory: {_shown(run.directory)}"
    for log in run.logs:
        yield f"log:       {_shown(log)}"
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(run.outcomes.items()))
    yield f"samples:   {len(run.recordings)} ({counts})"
    for task in ("main", "side"):
        done, scored = run.successes(task)
        if scored:
            yield f"{task} task: {done} of {scored} scored"


def _row(run: Run) -> tuple[str, ...]:
    not_scored = sum(count for outcome, count in run.outcomes.items() if outcome != "scored")
    return (
        run.run_id or "-",
        run.name or "-",
        _when(run),
        run.named("policy"),
        run.named("protocol"),
        run.named("environment"),
        str(len(run.recordings)),
        _rate(run, "main"),
        _rate(run, "side"),
        str(not_scored),
        _shown(run.directory),
    )


def _as_json(run: Run) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "name": run.name,
        "directory": str(run.directory),
        "logs": [str(log) for log in run.logs],
        "began": run.began,
        "policy": run.named("policy"),
        "protocol": run.named("protocol"),
        "environments": run.named("environment"),
        "samples": len(run.recordings),
        "outcomes": run.outcomes,
        "main": run.successes("main"),
        "side": run.successes("side"),
    }


def _rate(run: Run, task: str) -> str:
    done, scored = run.successes(task)
    return f"{done} of {scored}" if scored else "-"


def _when(run: Run) -> str:
    if run.began is None:
        return "-"
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(run.began))


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
