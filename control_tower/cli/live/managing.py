"""`ct live up`, `status`, `switch` and `down`."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from control_tower.cli.live.choosing import Failed
from control_tower.cli.options import click_option
from control_tower.cli.tables import print_lines, print_table
from control_tower.errors import UsageProblem, user_path
from control_tower.live.session import STEPS, Session, SessionFolder, why_dead
from control_tower.live.sessions import Sessions, check_name, default_name
from control_tower.live.steps import StepLog
from control_tower.options import BY_KEY

if TYPE_CHECKING:
    from control_tower.run_options import RunOptions

_TAKEN = (
    "env",
    "main_task",
    "side_task",
    "env_arg",
    "sandbox",
    "sandbox_arg",
    "startup_retries",
    "no_internet",
    "no_intranet",
    "network_control",
    "sandbox_isolation",
    "extra_src",
    "log_dir",
)
"""Run options that a session has, too."""
_ONE = ("env", "main_task", "side_task")
_HELP = {
    "env": "The environment: its name, or its folder as a path with a /.",
    "main_task": "Its main task.",
    "side_task": "Its side task.",
    "extra_src": "Folder of code from which --sandbox module:type may come. Repeat for several.",
    "log_dir": "Directory in which `ct live record` keeps trajectories.",
}
"""Where an option is something else here."""
_TASK_LINES = 12


def _up(name: str | None, **values: Any) -> None:
    from control_tower.live.starting import StartFailed, start

    given = {key: value for key, value in values.items() if value not in (None, ())}
    sessions = Sessions()
    session = _session(sessions, name, given)
    try:
        folder = start(sessions, session, lambda note: click.echo(f"{note} …", err=True))
    except StartFailed as failure:
        raise Failed(f"the session did not come up: {failure}") from None
    except KeyboardInterrupt:
        raise Failed("stopped; nothing of the session is left") from None
    print_lines(_welcome(folder.read()))


def _session(sessions: Sessions, name: str | None, given: dict[str, Any]) -> Session:
    from control_tower.extra_source import ExtraSource
    from control_tower.live.choosing import find_environment
    from control_tower.run_options import RunOptions
    from control_tower.sandboxes.settings import SandboxSettings

    for key in _ONE:
        if len(given.get(key, ())) > 1:
            raise UsageProblem(f"{BY_KEY[key].spelling('ct')}: a session has one; give it once")
    if "env" not in given:
        raise UsageProblem("name the environment with --env")
    options = RunOptions.from_values(given, front_end="ct")
    source = ExtraSource.of(options.extra_src, flag=options.flag("extra_src"))
    environment = find_environment(options.env[0])
    main, side = (_first(given.get(key, ())) for key in ("main_task", "side_task"))
    if name is not None:
        check_name(name)
    return Session(
        name=name or sessions.free_name(default_name(environment.id, main, side)),
        environment=environment.id,
        directory=str(environment.directory.absolute()),
        main_task=main,
        side_task=side,
        env_arg=options.env_arg,
        sandbox=options.sandbox,
        settings=SandboxSettings.of(options),
        extra_src=tuple(map(str, source.directories)),
        log_dir=_log_dir(options),
    )


def _log_dir(options: RunOptions) -> str:
    """The absolute path of a folder that is there, or can be made.

    Raises:
        UsageProblem: it cannot be.
    """
    place = user_path(options.log_dir, flag=options.flag("log_dir")).absolute()
    there = next(path for path in (place, *place.parents) if os.path.lexists(path))
    try:
        with tempfile.TemporaryDirectory(dir=there, prefix=".ct-live-"):
            pass
    except OSError as error:
        problem = f"'{there}' cannot be written to: {error.strerror}; name another"
        raise UsageProblem(f"{options.flag('log_dir')}: {problem}") from None
    return str(place)


def _option(key: str) -> click.Option:
    option = BY_KEY[key]
    return click_option(replace(option, help=_HELP.get(key, option.help)))


def _first(names: tuple[str, ...]) -> str | None:
    return names[0] if names else None


def _welcome(session: Session) -> Iterator[str]:
    from control_tower.episode.briefs import task_prompt
    from control_tower.live.choosing import chosen_by

    chosen = chosen_by(session)
    yield f"session '{session.name}' is up: {session.sample_id} in {chosen.sandbox.described}"
    yield f"workspace: {session.workspace}"
    if chosen.combination.main_task is not None:
        yield from _shortened("task", task_prompt(chosen.combination))
    if chosen.combination.side_task is not None:
        yield from _shortened("side task", chosen.combination.side_task.goal)
    yield "next: ct live shell, ct live exec -- COMMAND, ct live score, ct live down"


def _shortened(what: str, text: str) -> Iterator[str]:
    lines = text.strip().splitlines()
    yield f"{what}:"
    yield from (f"    {line}" for line in lines[:_TASK_LINES])
    if len(lines) > _TASK_LINES:
        yield f"    … ({len(lines) - _TASK_LINES} more lines)"


up = click.Command(
    "up",
    callback=_up,
    params=[
        *(_option(key) for key in _TAKEN),
        click.Option(
            ["-n", "--name"],
            metavar="NAME",
            help="What the session is called; by default after what it is of.",
        ),
    ],
    short_help="Start a session: the sandbox of an environment.",
    help=(
        "Start a session: the sandbox that a sample of the environment and its tasks would get, "
        "set up and with its services started.\n\nIt stays up when the terminal is closed. A task "
        "may be without a reference or a scorer: this is a way to write them."
    ),
)


@click.command(short_help="List the sessions, and how they are.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="A JSON object a line.")
def status(name: str | None, as_json: bool) -> None:
    """List the sessions, and how they are; or NAME alone.

    A session is dead when its process has ended without taking it down, by a crash of the machine,
    say. What was done in it is still there. The current one has a star.
    """
    sessions = Sessions()
    folders = sessions.all() if name is None else [sessions.find(name, flag="NAME")]
    current = sessions.current()
    rows = [_status(folder, current=folder.name == current) for folder in folders]
    if as_json:
        print_lines(json.dumps(row) for row in rows)
    elif rows:
        headings = ("", "name", "state", "sample", "sandbox", "steps", "since")
        print_table(headings, [_row(row) for row in rows])
    else:
        print_lines(["there is no session; `ct live up` starts one"])


def _status(folder: SessionFolder, *, current: bool) -> dict[str, Any]:
    try:
        session = folder.read()
    except UsageProblem as problem:
        return {"name": folder.name, "current": current, "state": "broken", "note": str(problem)}
    lives = folder.is_held()
    steps = StepLog(folder.path / STEPS).steps(session.workspace)
    return {
        "name": folder.name,
        "current": current,
        "state": session.state if lives else "dead",
        "note": session.note if lives else why_dead(folder, session),
        "sample": session.sample_id,
        "sandbox": session.sandbox or "docker",
        "steps": len(steps),
        "since": session.created,
        "workspace": session.workspace,
    }


def _row(status: dict[str, Any]) -> tuple[str, ...]:
    since = status.get("since")
    note = f" ({status['note']})" if status["note"] else ""
    return (
        "*" if status["current"] else "",
        status["name"],
        status["state"] + note,
        status.get("sample", "-"),
        status.get("sandbox", "-"),
        str(status.get("steps", "-")),
        "-" if since is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(since)),
    )


@click.command(short_help="Choose the session that commands are about.")
@click.argument("name")
def switch(name: str) -> None:
    """Choose the session that commands are about when they name none."""
    sessions = Sessions()
    folder = sessions.find(name, flag="NAME")
    sessions.switch(folder)
    print_lines([f"the current session is '{folder.name}'"])


@click.command(short_help="Remove a session and its sandbox.")
@click.argument("name", required=False)
@click.option("--all", "all_of_them", is_flag=True, help="Every session.")
def down(name: str | None, all_of_them: bool) -> None:
    """Remove the current session, or NAME, and its sandbox.

    What was done in it goes with it: `ct live record` and `ct live solution` come before. Of a dead
    session, what it left is removed.
    """
    from control_tower.live.starting import take_down
    from control_tower.live.wire import SessionFailed

    if name is not None and all_of_them:
        raise UsageProblem(f"'{name}' and --all contradict each other; use one of them")
    folders = Sessions().all() if all_of_them else [Sessions().find(name, flag="NAME")]
    for folder in folders:
        try:
            done = take_down(folder)
        except (SessionFailed, OSError) as failure:
            raise Failed(str(failure)) from None
        print_lines([f"session '{folder.name}' {done}"])
    if not folders:
        print_lines(["there is no session"])
