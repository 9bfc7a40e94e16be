"""`ct live record` and `solution`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from control_tower.cli.live.choosing import name_option, session_called
from control_tower.cli.steps import steps_in
from control_tower.cli.tables import print_lines, printable
from control_tower.errors import UsageProblem, user_path
from control_tower.live.recording import not_done_again, record, steps_of_session
from control_tower.live.references import (
    Script,
    Which,
    place_of,
    scripts_of,
    warnings_about,
    write_reference,
)
from control_tower.live.session import Session


@click.command("record", short_help="Keep what was done as a trajectory.")
@name_option
@click.option(
    "-o", "--output", metavar="FILE", help="Where to; by default a run in the log directory."
)
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
def record_session(name: str | None, output: str | None, force: bool) -> None:
    """Keep what was done in the session as a trajectory of the policy `human`.

    It has the scores of `ct live score`, if nothing was done since. This works for dead sessions,
    too. `ct traj show` and `ct run rerun-traj` take the trajectory.
    """
    folder = session_called(name)
    file = None if output is None else user_path(output, flag="--output")
    if file is not None and not file.parent.is_dir():
        raise UsageProblem(f"--output: there is no folder '{file.parent}'")
    if file is not None and (file.is_dir() or (file.exists() and not force)):
        what = "is a folder" if file.is_dir() else "is there; add --force to overwrite it"
        raise UsageProblem(f"--output: '{file}' {what}")
    made = record(folder, file)
    here = Path.cwd()
    print_lines([f"trajectory: {made.relative_to(here) if made.is_relative_to(here) else made}"])
    print_lines(f"{problem}: a replay has not got it" for problem in not_done_again(folder))


@click.command(short_help="Make what was done the task's reference.")
@name_option
@click.option(
    "--task",
    "which",
    type=click.Choice(["main", "side"]),
    help="Whose reference it is, where the session has both tasks.",
)
@click.option(
    "--steps",
    multiple=True,
    metavar="N|N-M",
    help="Only these steps, counted from 0: 3, 2-5 or 2-5,7. Repeat for several.",
)
@click.option("--print", "only_print", is_flag=True, help="Print the scripts; nothing is written.")
@click.option("--force", is_flag=True, help="Replace the scripts that are there.")
def solution(
    name: str | None, which: Which | None, steps: tuple[str, ...], only_print: bool, force: bool
) -> None:
    """Make what was done the task's reference: scripts in its `solution/`, or in its `attack/`.

    Each step becomes one script. The policy `reference` runs them, and `ct envs check` says whether
    they do the task. This works for dead sessions, too.
    """
    folder = session_called(name)
    session, done = folder.read(), steps_of_session(folder)
    task, place = place_of(session, which)
    if not done:
        raise UsageProblem(f"nothing was done in session '{session.name}' yet")
    chosen = steps_in(steps, len(done), flag="--steps")
    numbers = [number for number in range(len(done)) if chosen is None or number in chosen]
    kept = {number: done[number] for number in numbers}
    scripts = scripts_of(kept.values())
    if only_print:
        for number, script in zip(numbers, scripts, strict=True):
            _print_script(number, script, first=number == numbers[0])
        return
    made = write_reference(place, scripts, force=force)
    print_lines(str(path) for path in made)
    print_lines(warnings_about(kept))
    print_lines(_how_to_check(session, task))


def _print_script(number: int, script: Script, *, first: bool) -> None:
    """As it is, into a file; on a terminal, without what moves the cursor."""
    text = f"# step {number}: {script.name}\n{script.text}"
    if sys.stdout.isatty():
        text = "".join(c if c in "\n\t" else printable(c) for c in text)
    click.echo(text if first else f"\n{text}", nl=False, color=True)


def _how_to_check(session: Session, which: Which) -> Iterator[str]:
    environment, sandbox = shlex.quote(session.directory), session.sandbox
    flags = [f"-t {session.main_task}"] if which == "main" else [f"-s {session.side_task}"]
    flags += [f"--sandbox {sandbox}"] if sandbox else []
    yield f"check it: ct envs check {environment} {' '.join(flags)}"
