"""Running one command in a container, with bounded output and a sure end."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import anyio

from control_tower.sandboxes.docker.calls import EngineCalls
from control_tower.sandboxes.docker.execution import ContainerUnavailable, Execution, executing
from control_tower.sandboxes.docker.killing import SHELL, kill_command
from control_tower.sandboxes.docker.outputs import AnnouncedTail, Tail
from control_tower.sandboxes.listening import listener

_LOG = logging.getLogger(__name__)

NOT_ENTERED = 125
"""Exit code where the working folder cannot be entered."""
_NOT_EXECUTABLE = 126
_KILLED = 128 + 9

_NAME = "sandbox"
"""How the shell that becomes the command calls itself in what it complains about."""
_BECOME = f"""echo "$1:$$" >&2; cd "$2" || exit {NOT_ENTERED}; unset OLDPWD; shift 2; exec "$@" """
"""Announces the process id, and becomes the command."""
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_TO_KILL = 90.0
"""Seconds for ending a command, in all."""
_TO_BEGIN = 10.0
"""Seconds for a command that is to end to tell its process id first."""
_LOOK = 0.1
_DYING = 0.5
"""Seconds for a container to be seen ending after one of its commands was killed."""


@dataclass(frozen=True)
class Finished:
    """How a command ended."""

    returncode: int
    """A death by signal n is 128 + n; 125: its folder cannot be entered, 126: it cannot be
    executed or the engine could not start it, 127: there is no such program."""

    stdout: bytes
    stderr: bytes

    @property
    def denied(self) -> bool:
        """Whether its program may not be executed."""
        return self.returncode == _NOT_EXECUTABLE and self.stderr.startswith(f"{_NAME}:".encode())


class CommandTimeout(TimeoutError):
    """A command's time was up; nothing of it runs any more."""

    def __init__(self, seconds: float, truncated_output: str | None) -> None:
        super().__init__(f"the command was ended after {seconds:g} seconds")
        self.truncated_output = truncated_output
        """What it had written by then; Inspect passes it on under this name."""


async def run_command(
    calls: EngineCalls,
    container: str,
    command: Sequence[str],
    *,
    user: str | None,
    cwd: str,
    limit: int,
    input: bytes | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    privileged: bool = False,
) -> Finished:
    """Run a command until its own process has ended.

    At a timeout, and when the caller is cancelled, it is killed with all that it started, except
    for daemons that had left it before. A daemon that holds its output open delays the end by two
    seconds, which the engine waits.

    Args:
        calls: of the engine.
        container: id of a running container.
        command: program and arguments.
        user: name, number, or None for the container's own.
        cwd: absolute path of the working folder, entered as `user`.
        limit: bytes kept of each stream: the last ones.
        input: standard input; None is an empty one.
        env: variables added to the container's own.
        timeout: seconds.
        privileged: see `executing`.

    Raises:
        ContainerUnavailable: the container does not run, or has ended with the command.
        CommandTimeout: the time was up.
        docker.errors.APIError: the engine refuses for another reason.
    """
    began = anyio.current_time()
    output = _Output(limit)
    with anyio.move_on_after(timeout):
        shell = [SHELL, "-c", _BECOME, _NAME, output.marker, cwd, *_named(command, env or {})]
        variables = [f"{name}={value}" for name, value in (env or {}).items()]
        fed = input is not None
        async with executing(
            calls, container, shell, user=user, env=variables, fed=fed, privileged=privileged
        ) as execution:
            try:
                code = await _attend(execution, output, input)
            except BaseException:
                with anyio.CancelScope(shield=True), anyio.move_on_after(_TO_KILL):
                    await _end(execution, output, _Target(calls, container, user, began))
                raise
        return await _finished(calls, container, code, output)
    assert timeout is not None
    raise CommandTimeout(timeout, output.text())


def _named(command: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The command, with those variables that a shell would drop for their names."""
    odd = [f"{name}={value}" for name, value in env.items() if not _PLAIN_NAME.fullmatch(name)]
    return ["/usr/bin/env", *odd, *command] if odd else list(command)


class _Output:
    """What a command has written so far."""

    def __init__(self, limit: int) -> None:
        self.marker = secrets.token_hex(8)
        self.stdout = Tail(limit, listener("stdout"))
        self.stderr = AnnouncedTail(limit, self.marker, listener("stderr"))

    async def collect(self, execution: Execution) -> None:
        """Read until all writers are gone."""
        await execution.collect(self.stdout, self.stderr)
        self.stderr.end()

    def text(self) -> str | None:
        """All of it as a reader may see it, or None if there is none."""
        return (self.stdout.kept() + self.stderr.kept()).decode(errors="replace") or None


@dataclass(frozen=True)
class _Target:
    """A command that is to be ended."""

    calls: EngineCalls
    container: str
    user: str | None
    began: float


async def _attend(execution: Execution, output: _Output, input: bytes | None) -> int:
    """Feed and read a command until it has ended; its exit code."""
    if input is None:
        await output.collect(execution)
    else:
        async with anyio.create_task_group() as group:
            group.start_soon(execution.feed, input)
            await output.collect(execution)
            group.cancel_scope.cancel()
    return await execution.exit_code()


async def _end(execution: Execution, output: _Output, target: _Target) -> None:
    from docker.errors import DockerException

    async with anyio.create_task_group() as group:
        group.start_soon(output.collect, execution)
        with anyio.move_on_after(_TO_BEGIN):
            await output.stderr.decided.wait()
        pid = output.stderr.pid
        try:
            if pid is not None:
                await kill_command(
                    target.calls, target.container, pid, began=target.began, user=target.user
                )
            elif not output.stderr.decided.is_set():
                _LOG.error("a command in a sandbox cannot be killed: it did not tell its number")
        except DockerException as error:
            _LOG.error("a command in a sandbox cannot be killed: %s", error)
        group.cancel_scope.cancel()


async def _finished(calls: EngineCalls, container: str, code: int, output: _Output) -> Finished:
    """The result, unless the container has ended."""
    begun = output.stderr.pid is not None
    if (code != 0 and not begun) or code == _KILLED:
        await _refuse_ended(calls, container, _DYING if code == _KILLED else 0.0)
    stdout, stderr = output.stdout.kept(), output.stderr.kept()
    if code != 0 and not begun:  # then the engine says on standard output why
        return Finished(code, b"", stdout + stderr)
    return Finished(code, stdout, stderr)


async def _refuse_ended(calls: EngineCalls, container: str, patience: float) -> None:
    """Raise if the container has ended: its commands are killed a moment before that is known."""
    from docker.errors import NotFound

    deadline = anyio.current_time() + patience
    while True:
        try:
            state = (await calls.inspect(container))["State"]
        except NotFound:
            raise ContainerUnavailable("the container has been removed") from None
        if not state["Running"]:
            raise ContainerUnavailable(
                f"the container has ended with exit code {state['ExitCode']}"
            )
        if anyio.current_time() >= deadline:
            return
        await anyio.sleep(_LOOK)
