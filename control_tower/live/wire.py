"""What goes over a session's socket: a header in a line of JSON, then as many bytes as it says."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from control_tower.errors import UsageProblem
from control_tower.live.session import Session, SessionFolder

if TYPE_CHECKING:
    from anyio.streams.buffered import BufferedByteReceiveStream

_LONGEST_HEADER = 64 * 1024 * 1024
LARGEST = 256 * 1024 * 1024
"""Bytes after a header."""
_SIZE = "size"
HEARD = "stream"
"""In a header that is no answer yet: the stream of which more follows."""
INTERRUPTED = 130
"""The exit code of a command that the user ended, as of a shell after Ctrl-C."""
_ENDED = "the session's process has ended; see `ct live status`"


class SessionFailed(Exception):
    """The session could not do what it was asked; the text says why."""


def packed(header: dict[str, Any], data: bytes = b"") -> bytes:
    """A message."""
    return json.dumps({**header, _SIZE: len(data)}).encode() + b"\n" + data


async def received(stream: BufferedByteReceiveStream) -> tuple[dict[str, Any], bytes]:
    """The next message.

    Raises:
        anyio.IncompleteRead: the other side has gone.
        ValueError: it is no message.
    """
    header = json.loads(await stream.receive_until(b"\n", _LONGEST_HEADER))
    size = header.pop(_SIZE, None) if isinstance(header, dict) else None
    if not isinstance(size, int) or not 0 <= size <= LARGEST:
        raise ValueError(f"a message of {size} bytes")
    return header, await stream.receive_exactly(size) if size else b""


class Connection:
    """A client's connection to a session's process."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._stream = line.makefile("rb")

    def send(self, header: dict[str, Any], data: bytes = b"") -> None:
        """Send a message.

        Raises:
            OSError: the process has gone.
        """
        self._line.sendall(packed(header, data))

    def receive(self) -> tuple[dict[str, Any], bytes]:
        """Wait for the answer.

        Raises:
            UsageProblem: something is wrong with the environment, or with what was asked.
            SessionFailed: it could not be done, or the process went before it answered.
        """
        try:
            line = self._stream.readline()
            header = json.loads(line) if line.endswith(b"\n") else {_SIZE: -1}
            size = header.pop(_SIZE)
            data = self._stream.read(size) if size > 0 else b""
        except ConnectionError:
            raise SessionFailed(_ENDED) from None
        if len(data) != size:
            raise SessionFailed(_ENDED)
        if "problem" in header:
            raise (UsageProblem if header.get("usage") else SessionFailed)(header["problem"])
        return header, data

    def ask(
        self,
        header: dict[str, Any],
        data: bytes = b"",
        *,
        hear: Callable[[str, bytes], None] = lambda stream, data: None,
    ) -> tuple[dict[str, Any], bytes]:
        """Send a request, and wait for its answer.

        Args:
            header: what is asked.
            data: what goes with it.
            hear: gets what comes before the answer: the name of a stream, and its next bytes.

        Raises:
            UsageProblem: as `receive`.
            SessionFailed: as `receive`.
        """
        try:
            self.send(header, data)
        except TimeoutError:
            raise
        except OSError:
            raise SessionFailed(_ENDED) from None
        while True:
            answer, rest = self.receive()
            if HEARD not in answer:
                return answer, rest
            hear(answer[HEARD], rest)


@contextmanager
def connected(
    folder: SessionFolder, *, patience: float | None = None
) -> Iterator[tuple[Session, Connection]]:
    """A connection to a session that is up.

    Args:
        folder: the session's.
        patience: seconds to wait for an answer; then the connection raises `TimeoutError`.

    Raises:
        UsageProblem: it is not.
    """
    session = folder.read()
    if not folder.is_held():
        raise UsageProblem(
            f"session '{folder.name}' is dead: its process has ended. "
            f"`ct live record -n {folder.name}` and `ct live solution -n {folder.name}` still have "
            f"what was done; `ct live down {folder.name}` removes it"
        )
    if session.state != "up":
        at = f" ({session.note})" if session.note else ""
        raise UsageProblem(f"session '{folder.name}' is still starting{at}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(patience)
        try:
            line.connect(session.socket)
        except OSError as error:
            raise UsageProblem(
                f"session '{folder.name}' does not answer: {error.strerror}"
            ) from None
        yield session, Connection(line)
