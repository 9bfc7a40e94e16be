"""What a command writes, as much of it as is kept."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

import anyio

from control_tower.sandboxes.listening import nobody

_LONGEST_PRELUDE = 64 * 1024


class Tail:
    """The last bytes of a stream.

    Args:
        limit: how many.
        hear: gets all bytes as they come.
    """

    def __init__(self, limit: int, hear: Callable[[bytes], None] = nobody) -> None:
        self._limit = limit
        self._hear = hear
        self._chunks: deque[bytes] = deque()
        self._size = 0

    def write(self, chunk: bytes) -> None:
        """Take the stream's next bytes; older ones are dropped once there are enough."""
        if not chunk:
            return
        self._hear(chunk)
        self._chunks.append(chunk)
        self._size += len(chunk)
        while self._size - len(self._chunks[0]) >= self._limit:
            self._size -= len(self._chunks.popleft())

    def kept(self) -> bytes:
        """The last bytes, at most `limit` of them."""
        whole = b"".join(self._chunks)
        return whole[-self._limit :] if len(whole) > self._limit else whole


class AnnouncedTail(Tail):
    """A stream that announces a process id in a line of its own before all that counts.

    An agent whose process sees the marker in time may write anything first: what is no number of a
    process is a part of the output.
    """

    def __init__(self, limit: int, marker: str, hear: Callable[[bytes], None] = nobody) -> None:
        super().__init__(limit, hear)
        self.pid: int | None = None
        """The process id, once it was announced."""
        self.decided = anyio.Event()
        """Set once the process id is known, or will never be."""
        self._announcement = re.compile(re.escape(marker).encode() + rb":([0-9]{1,10})\n")
        self._prelude: bytearray | None = bytearray()

    def write(self, chunk: bytes) -> None:
        """Take the stream's next bytes; the announcement is no part of what is kept."""
        if self._prelude is None:
            super().write(chunk)
            return
        self._prelude += chunk
        found = self._announcement.search(self._prelude)
        if found is not None:
            self.pid = int(found[1])
            self._decide(bytes(self._prelude[: found.start()] + self._prelude[found.end() :]))
        elif len(self._prelude) > _LONGEST_PRELUDE:
            self._decide(bytes(self._prelude))

    def end(self) -> None:
        """Nothing more will come."""
        if self._prelude is not None:
            self._decide(bytes(self._prelude))

    def _decide(self, kept: bytes) -> None:
        self._prelude = None
        super().write(kept)
        self.decided.set()
