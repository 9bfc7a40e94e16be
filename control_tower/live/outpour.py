"""What a command prints, on its way to a client while the command runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import anyio

from control_tower.live.wire import HEARD, packed
from control_tower.sandboxes.listening import Hear, Stream

if TYPE_CHECKING:
    from anyio.abc import ByteSendStream

T = TypeVar("T")
_MOST = 4 * 1024 * 1024
"""Bytes that wait for a client; of a command that prints faster than it reads, the rest is lost."""


class Outpour:
    """Sends what a command prints to a client, as fast as that reads it.

    Args:
        line: to the client.
    """

    def __init__(self, line: ByteSendStream) -> None:
        self._line = line
        self._waiting: list[tuple[Stream, bytes]] = []
        self._size = 0
        self._change = anyio.Event()
        self._over = False
        self.heard = False
        """Whether anything was printed that could be heard."""
        self.lost = 0
        """Bytes that were not sent."""

    async def during(self, work: Callable[[Hear], Awaitable[T]]) -> T:
        """Do the work and send what it lets us hear; returns when all of that is sent.

        A client that has gone gets nothing more.
        """
        results: list[T] = []
        problems: list[Exception] = []
        async with anyio.create_task_group() as group:
            group.start_soon(self._send)
            try:
                results.append(await work(self._hear))
            except Exception as problem:  # raised below, by itself
                problems.append(problem)
            self._over = True
            self._change.set()
        if problems:
            raise problems[0]
        return results[0]

    async def _send(self) -> None:
        while True:
            await self._change.wait()
            self._change = anyio.Event()
            waiting, self._waiting, self._size = self._waiting, [], 0
            over = self._over
            try:
                for stream, chunk in waiting:
                    await self._line.send(packed({HEARD: stream}, chunk))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
            if over:
                return

    def _hear(self, stream: Stream, chunk: bytes) -> None:
        self.heard = True
        if self._size + len(chunk) > _MOST:
            self.lost += len(chunk)
            return
        self._waiting.append((stream, chunk))
        self._size += len(chunk)
        self._change.set()
