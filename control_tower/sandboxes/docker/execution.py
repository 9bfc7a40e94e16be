"""One command that the engine runs in a container, from its start to its exit code."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio

from control_tower.sandboxes.docker.attaching import STDERR, Attached, AttachRefused, attached
from control_tower.sandboxes.docker.calls import Body, EngineCalls
from control_tower.sandboxes.docker.outputs import Tail

_START = 60.0
"""Seconds for the engine to take a command."""
_FIRST_LOOK = 0.005
_LONGEST_BREAK = 0.5
_T = TypeVar("_T")
_GONE = (404, 409)
"""What the engine answers where the container is gone, does not run, or is paused."""


class ContainerUnavailable(Exception):
    """The container runs no commands: it has ended, is paused, or the engine is not there."""


class Execution:
    """A command that was started; get it from `executing`."""

    def __init__(self, calls: EngineCalls, command: str, streams: Attached) -> None:
        self._calls = calls
        self._command = command
        self._streams = streams

    async def feed(self, data: bytes) -> None:
        """Feed its standard input, and close it."""
        await self._streams.send(data)

    async def collect(
        self, stdout: Tail, stderr: Tail, *, enough: Callable[[], bool] = lambda: False
    ) -> None:
        """Read its output until all writers are gone, or `enough` says so after a part of it.

        The engine stops reading two seconds after the command's own process has ended, so that a
        daemon that holds the streams open keeps nobody waiting. A call that was cancelled can be
        made again.
        """
        while (parts := await self._streams.receive()) is not None:
            for kind, part in parts:
                (stderr if kind == STDERR else stdout).write(part)
            if enough():
                return

    async def exit_code(self) -> int:
        """Wait for its own process to end; a death by signal n is 128 + n, as in a shell.

        Raises:
            ContainerUnavailable: the engine does not know any more.
        """
        pause = _FIRST_LOOK
        while True:
            state = await _or_unavailable(self._calls.exec_inspect, self._command)
            if not state["Running"] and state["ExitCode"] is not None:
                return int(state["ExitCode"])
            await anyio.sleep(pause)
            pause = min(pause * 2, _LONGEST_BREAK)


@asynccontextmanager
async def executing(
    calls: EngineCalls,
    container: str,
    command: list[str],
    *,
    user: str | None,
    env: list[str] | None = None,
    fed: bool = False,
    privileged: bool = False,
) -> AsyncIterator[Execution]:
    """Start a command in a container's root folder; leaving lets it run on.

    Args:
        calls: of the engine.
        container: its id.
        command: program and arguments.
        user: name, number, or None for the container's own.
        env: variables as `NAME=value`, added to the container's own.
        fed: whether it has a standard input.
        privileged: whether it has all powers over the container; never with files in it that the
            agent can have altered.

    Raises:
        ContainerUnavailable: the container runs no commands.
        docker.errors.APIError: the engine refuses for another reason.
    """
    body: Body = {
        "Cmd": command,
        "User": user or "",
        "Env": env or [],
        "WorkingDir": "/",
        "Privileged": privileged,
        "AttachStdin": fed,
        "AttachStdout": True,
        "AttachStderr": True,
    }
    made = await _or_unavailable(calls.exec_create, container, body)
    try:
        async with attached(calls.address, calls.api_version, made, patience=_START) as streams:
            yield Execution(calls, made, streams)
    except AttachRefused as refused:
        raise ContainerUnavailable(str(refused)) from None


async def _or_unavailable(call: Callable[..., Awaitable[_T]], *arguments: object) -> _T:
    from docker.errors import APIError
    from requests import RequestException

    try:
        return await call(*arguments)
    except APIError as error:
        if error.status_code in _GONE:
            raise ContainerUnavailable(str(error.explanation or error)) from None
        raise
    except RequestException as error:
        raise ContainerUnavailable(f"the Docker engine does not answer: {error}") from error
