"""`ct live shell`, `exec` and `score`."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import click

from control_tower.cli.live.choosing import Failed, name_option, session_called
from control_tower.cli.tables import print_lines, print_table
from control_tower.errors import UsageProblem
from control_tower.live.session import SessionFolder
from control_tower.live.shells import Listener, Typed, command_line
from control_tower.live.steps import Entry
from control_tower.live.terminal import readable, relay
from control_tower.live.wire import INTERRUPTED, Connection, SessionFailed, connected
from control_tower.tools.names import LONGEST_TIMEOUT, USUAL_TIMEOUT

_KILLED = 137
"""The exit code of a shell that was killed, as it is when its sandbox ends."""
_DYING, _LOOK = 2.0, 0.05
"""Seconds that a process which was killed may take to be gone, and between two looks at it."""
_KEPT = 16_000
"""Characters of what a terminal showed of one command that are recorded."""


@click.command(short_help="Work in the sandbox in a shell.")
@name_option
def shell(name: str | None) -> int:
    """Work in the sandbox in a shell, as the agent, in its workspace.

    Commands are recorded as they end, with what they showed; all of one shell become one step, a
    script that does them again. What is typed into a program (an editor, Python) is not.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageProblem("ct live shell needs a terminal; without one, use ct live exec")
    try:
        folder = session_called(name)
        with connected(folder) as (_, connection):
            answer, _ = connection.ask({"do": "shell"})
            code = _in_shell(answer["argv"], answer["mark"], connection)
    except SessionFailed as failure:
        raise Failed(str(failure)) from None
    if _has_died(folder, code):
        click.echo()  # the shell was in the middle of a line
        raise Failed(f"the shell has ended, for session '{folder.name}' has: see `ct live status`")
    return code


def _has_died(folder: SessionFolder, code: int) -> bool:
    """Whether the session's process has, whose end may take a moment longer than a killed shell."""
    deadline = time.monotonic() + (_DYING if code == _KILLED else 0)
    while folder.is_held():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_LOOK)
    return True


def _in_shell(argv: list[str], mark: str, connection: Connection) -> int:
    listener = Listener(mark)

    def hear(data: bytes) -> bytes:
        shown, typed = listener.hear(data)
        for command in typed:
            _keep(connection, command, mark)
        return shown

    return relay(argv, hear)


def _keep(connection: Connection, typed: Typed, shell: str) -> None:
    entry = Entry(
        kind="shell",
        command=typed.command,
        output=readable(typed.shown)[-_KEPT:],
        code=typed.code,
        seconds=typed.seconds,
        shell=shell,
        folder=typed.folder,
    )
    connection.ask({"do": "typed", "entry": entry.model_dump()})


@click.command(
    "exec",
    short_help="Run a command in the sandbox.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@name_option
@click.option(
    "--timeout",
    type=click.IntRange(1, LONGEST_TIMEOUT),
    metavar="SECONDS",
    help=f"Seconds that it may take, at most {LONGEST_TIMEOUT}.  [default: {USUAL_TIMEOUT}]",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def execute(name: str | None, timeout: int | None, command: tuple[str, ...]) -> int:
    """Run COMMAND in the sandbox, as the agent's `bash` tool does, in the workspace.

    A single word is a command line of bash; `-` reads a script from standard input. What it prints
    is shown as it comes. The exit code is the command's; 124, if its time was up. Ctrl-C ends the
    command.
    """
    request = {"do": "exec", "command": _command(command), "timeout": timeout}
    try:
        with connected(session_called(name)) as (_, connection):
            answer, _ = connection.ask(request, hear=_pass_on)
    except KeyboardInterrupt:  # the connection is closed, which ends the command
        return INTERRUPTED
    except SessionFailed as failure:
        raise Failed(str(failure)) from None
    _print_rest(answer)
    code: int = answer["code"]
    return code


def _command(words: tuple[str, ...]) -> str:
    try:
        text = sys.stdin.buffer.read().decode() if words == ("-",) else command_line(words)
        text.encode()
    except UnicodeError:
        raise UsageProblem("the command is not UTF-8, which the agent's tool needs") from None
    if not text.strip():
        raise UsageProblem("there is no command")
    if "\0" in text:
        raise UsageProblem("the command has a null character, which no command can have")
    return text


def _pass_on(stream: str, data: bytes) -> None:
    """Print on our stream what the command printed on its own."""
    ours = (sys.stderr if stream == "stderr" else sys.stdout).buffer
    ours.write(data)
    ours.flush()


def _print_rest(answer: dict[str, Any]) -> None:
    """What is not printed yet: all of it, from a sandbox that tells nothing before the end."""
    code: int = answer["code"]
    output: str = answer["output"]
    error: str | None = answer["error"]
    if answer["heard"]:
        output, error = "", error and error.split("\n")[0]
    elif code and not error:
        output = output.removesuffix(f"[exit code {code}]")
    if output and output != "(no output)":
        click.echo(output, nl=not output.endswith("\n"), color=True)
    if answer["lost"]:
        lost = -(-answer["lost"] // 1024)
        click.echo(f"ct: {lost} KiB of it came too fast, and are not shown", err=True)
    if error:
        click.echo(error.replace("timeout_seconds", "--timeout"), err=True)


@click.command(short_help="Run the tasks' scorers now.")
@name_option
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def score(name: str | None, as_json: bool) -> int:
    """Run the tasks' scorers now, in the sandbox as it is; as often as one likes.

    The scorers are read anew each time. The exit code is 0 if every task is done, else 1.
    """
    folder = session_called(name)
    scores = _scores(folder)
    if not scores:
        raise UsageProblem(f"session '{folder.name}' has no task, so there is nothing to score")
    if as_json:
        print_lines([json.dumps(scores)])
    else:
        words = {True: "done", False: "not done", None: "unscored"}
        rows = [
            (f"{which} task", words[each["success"]], each["explanation"])
            for which, each in scores.items()
        ]
        print_table(("task", "score", "explanation"), rows)
    return 0 if all(each["success"] for each in scores.values()) else 1


def _scores(folder: SessionFolder) -> dict[str, dict[str, Any]]:
    from control_tower.episode.outcome import TaskResult
    from control_tower.live.recording import done_so_far, keep_scores

    done = done_so_far(folder)
    try:
        with connected(folder) as (_, connection):
            answer, _ = connection.ask({"do": "score"})
    except SessionFailed as failure:
        raise Failed(str(failure)) from None
    scores: dict[str, dict[str, Any]] = answer["scores"]
    keep_scores(folder, {which: TaskResult(**each) for which, each in scores.items()}, done=done)
    return scores
