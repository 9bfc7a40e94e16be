"""Running one host command from the event loop, with bounded output and a sure end.

The pipes are read by hand, since a daemon that a command left behind may hold them open for ever:
the command is over when its own process is, and what it wrote by then has been read. The process
is awaited through a pidfd, which works in any thread and with asyncio and trio alike.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO

import anyio
import anyio.to_thread

from control_tower.sandboxes.bwrap.processes import kill_command
from control_tower.sandboxes.listening import listener

_LOG = logging.getLogger(__name__)
_DRAIN = 0.3
"""Seconds for which a pipe that others hold open is read after the command's end."""
_CHUNK = 256 * 1024


@dataclass(frozen=True)
class Finished:
    """How a command ended; a death by signal n is exit code 128 + n, as in a shell."""

    returncode: int
    stdout: bytes
    stderr: bytes
    prelude: bytes
    """What stderr started with, up to the length asked for; not part of `stderr`."""


async def run(
    command: Sequence[str],
    *,
    input: bytes | None,
    env: Mapping[str, str],
    limit: int,
    prelude: int = 0,
    timeout: float | None = None,
    sockets: bool = False,
    pass_fds: Sequence[int] = (),
) -> Finished:
    """Run `command` on the host in a session of its own.

    Args:
        command: program and arguments.
        input: standard input; None is an empty one.
        env: its whole environment.
        limit: bytes kept of each stream: the last ones.
        prelude: bytes at the start of stderr to be kept apart.
        timeout: seconds.
        sockets: give it sockets in place of pipes, which nobody can open once more by way of
            `/proc`.
        pass_fds: our file descriptors that it keeps.

    Raises:
        TimeoutError: the time was up; nothing of the command runs any more.
        OSError: the command could not be executed.
    """
    with ExitStack() as stack:
        process, (stdin, stdout, stderr) = _start(
            command, env, stack, feed=input is not None, sockets=sockets, pass_fds=pass_fds
        )
        out = _Tail(stdout, limit, 0, listener("stdout"))
        err = _Tail(stderr, limit, prelude, listener("stderr"))
        try:
            with anyio.fail_after(timeout):
                await _attend(process, stdin, input or b"", out, err)
        finally:
            if process.returncode is None:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(_end, process)
    code = process.returncode
    return Finished(code if code >= 0 else 128 - code, out.tail(), err.tail(), bytes(err.prelude))


_Stream = IO[bytes] | socket.socket


def _start(
    command: Sequence[str],
    env: Mapping[str, str],
    stack: ExitStack,
    *,
    feed: bool,
    sockets: bool,
    pass_fds: Sequence[int],
) -> tuple[subprocess.Popen[bytes], tuple[_Stream | None, _Stream, _Stream]]:
    """Start the command; our ends of its streams are closed by `stack`."""
    theirs = [subprocess.PIPE] * 3
    ours: list[_Stream | None] = [None] * 3
    with ExitStack() as started:
        if sockets:
            for number in range(3):
                mine, other = socket.socketpair()
                ours[number] = stack.enter_context(mine)
                theirs[number] = started.enter_context(other).fileno()
        if not feed:
            theirs[0] = subprocess.DEVNULL
        process = subprocess.Popen(
            command,
            stdin=theirs[0],
            stdout=theirs[1],
            stderr=theirs[2],
            bufsize=0,
            cwd="/",
            env=env,
            start_new_session=True,
            pass_fds=pass_fds,
        )
    if not sockets:
        ours = [process.stdin, process.stdout, process.stderr]
        for pipe in ours:
            if pipe is not None:
                stack.enter_context(pipe)
    stdin, stdout, stderr = ours
    assert stdout is not None and stderr is not None
    return process, (stdin if feed else None, stdout, stderr)


async def _attend(
    process: subprocess.Popen[bytes],
    stdin: _Stream | None,
    input: bytes,
    out: _Tail,
    err: _Tail,
) -> None:
    async with anyio.create_task_group() as group:
        if stdin is not None:
            group.start_soon(_feed, stdin, input)
        group.start_soon(out.collect)
        group.start_soon(err.collect)
        await _ended(process)
        with anyio.move_on_after(_DRAIN):
            await out.closed.wait()
            await err.closed.wait()
        group.cancel_scope.cancel()
    # However busy the event loop was: what the command itself wrote is still in the pipes.
    out.sweep()
    err.sweep()


async def _ended(process: subprocess.Popen[bytes]) -> None:
    pidfd = os.pidfd_open(process.pid)
    try:
        await anyio.wait_readable(pidfd)
    finally:
        os.close(pidfd)
    process.wait()


async def _feed(pipe: _Stream, data: bytes) -> None:
    os.set_blocking(pipe.fileno(), False)
    rest = memoryview(data)
    # A command that does not read its input to the end is no error.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        while rest:
            await anyio.wait_writable(pipe.fileno())
            with contextlib.suppress(BlockingIOError):
                rest = rest[os.write(pipe.fileno(), rest[:_CHUNK]) :]
    pipe.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    if not kill_command(process.pid):
        _LOG.error("a command in a sandbox outlives being killed (process %s)", process.pid)
        return
    process.wait()


class _Tail:
    """One output stream: its prelude, and the last `limit` bytes of the rest."""

    def __init__(
        self, pipe: _Stream, limit: int, prelude: int, hear: Callable[[bytes], None]
    ) -> None:
        self.closed = anyio.Event()
        self.prelude = bytearray()
        self._fd = pipe.fileno()
        self._limit = limit
        self._wanted = prelude
        self._hear = hear
        self._chunks: deque[bytes] = deque()
        self._size = 0
        os.set_blocking(self._fd, False)

    async def collect(self) -> None:
        """Read until every writer is gone."""
        while True:
            await anyio.wait_readable(self._fd)
            if self._read() == 0:
                break
        self.closed.set()

    def sweep(self) -> None:
        """Read what is in the pipe now, without waiting; bounded, should someone keep writing."""
        swept = 0
        while swept < 4 * 1024 * 1024 and (count := self._read()):
            swept += count

    def tail(self) -> bytes:
        """The last bytes, at most `limit` of them."""
        kept = b"".join(self._chunks)
        return kept[-self._limit :] if len(kept) > self._limit else kept

    def _read(self) -> int | None:
        """Read once; the number of bytes, 0 at the end, None if nothing is there yet."""
        try:
            chunk = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return None
        if not chunk:
            return 0
        missing = self._wanted - len(self.prelude)
        if missing > 0:
            self.prelude += chunk[:missing]
        rest = chunk[max(0, missing) :]
        if rest:
            self._hear(rest)
        self._chunks.append(rest)
        self._size += len(rest)
        while self._size - len(self._chunks[0]) >= self._limit:
            self._size -= len(self._chunks.popleft())
        return len(chunk)
