"""The streams of one command that the Docker engine runs in a container.

The engine answers the start of a command by turning the connection into the command's streams.
The `docker` library gives its bare socket, and can lose what had arrived with the answer's head; so
the connection is made here.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
from anyio.abc import SocketAttribute, UNIXSocketStream
from anyio.streams.stapled import StapledByteStream

if TYPE_CHECKING:
    from anyio.abc import ByteStream

STDOUT = 1
STDERR = 2

_USUAL = "unix:///var/run/docker.sock"
_USUAL_PORT = 2375
_CHUNK = 256 * 1024
_LONGEST_HEAD = 64 * 1024
_FRAME_HEAD = 8
_TAKEN = (101, 200)
_DIAL = ("docker", "system", "dial-stdio")
"""Docker's command line as a connection, for engines behind TLS or ssh: it knows how to get there,
and can close one direction alone."""


class AttachRefused(Exception):
    """The engine does not start the command; `str()` is its words, or ours if it has none."""


class Attached:
    """A started command's streams; get it from `attached`."""

    def __init__(self, stream: ByteStream, rest: bytes) -> None:
        self._stream = stream
        self._socket = _bare_socket(stream)
        self._frames = Frames()
        self._rest = rest

    async def send(self, data: bytes) -> None:
        """Feed standard input and close it; that the command does not read it all is no error."""
        gone = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)
        with contextlib.suppress(*gone):
            for start in range(0, len(data), _CHUNK):
                await self._stream.send(data[start : start + _CHUNK])
            await self._stream.send_eof()

    async def receive(self) -> list[tuple[int, bytes]] | None:
        """What arrived next, as pairs of stream and bytes; None once all writers are gone.

        A call that is cancelled loses nothing.
        """
        if self._rest:
            chunk, self._rest = self._rest, b""
        else:
            try:
                if self._socket is not None:
                    await anyio.wait_readable(self._socket)
                chunk = await self._stream.receive(_CHUNK)
            except (anyio.EndOfStream, anyio.BrokenResourceError, ConnectionError):
                return None
        return list(self._frames.feed(chunk))


def _bare_socket(stream: ByteStream) -> socket.socket | None:
    """What to wait on before reading, if the stream reads a socket itself.

    Such a stream's own wait, cancelled in the moment in which something arrives, makes asyncio log
    an `InvalidStateError`.
    """
    if not isinstance(stream, UNIXSocketStream):
        return None
    found: socket.socket = stream.extra(SocketAttribute.raw_socket)
    return found


class Frames:
    """Takes the engine's frames apart: each is a stream's number and the length of what follows."""

    def __init__(self) -> None:
        self._kind = 0
        self._left = 0
        self._head = bytearray()

    def feed(self, chunk: bytes) -> Iterator[tuple[int, bytes]]:
        """The parts of frames that are in the next bytes, wherever those were cut."""
        at = 0
        while at < len(chunk):
            if self._left:
                part = chunk[at : at + self._left]
                self._left -= len(part)
                at += len(part)
                yield self._kind, part
                continue
            missing = _FRAME_HEAD - len(self._head)
            self._head += chunk[at : at + missing]
            at += missing
            if len(self._head) == _FRAME_HEAD:
                self._kind = self._head[0]
                self._left = int.from_bytes(self._head[4:], "big")
                self._head.clear()


@asynccontextmanager
async def attached(
    address: str | None, api_version: str, command: str, *, patience: float
) -> AsyncIterator[Attached]:
    """Start a command and give its streams; leaving closes them and lets the command run on.

    Args:
        address: the engine's; None is the usual one.
        api_version: of the Engine API, such as `1.45`.
        command: its id, as `EngineCalls.exec_create` gives it.
        patience: seconds for the engine to start it. Cancelling does not cut that short: whether
            the command runs must be known.

    Raises:
        AttachRefused: the engine does not start it, does not answer or cannot be reached.
    """
    async with contextlib.AsyncExitStack() as stack:
        try:
            with anyio.CancelScope(shield=True), anyio.fail_after(patience):
                stream = await stack.enter_async_context(_connection(address or _USUAL))
                await stream.send(_request(api_version, command))
                rest = await _accepted(stream)
        except TimeoutError:
            words = f"the Docker engine took no command within {patience:g} seconds"
            raise AttachRefused(words) from None
        except (OSError, anyio.BrokenResourceError) as error:
            raise AttachRefused(f"the Docker engine cannot be reached: {error}") from error
        yield Attached(stream, rest)


@asynccontextmanager
async def _connection(address: str) -> AsyncIterator[ByteStream]:
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    stream: ByteStream
    if parts.scheme == "unix":
        stream = await anyio.connect_unix(f"{parts.netloc}{parts.path}" or urlsplit(_USUAL).path)
    elif parts.scheme in ("tcp", "http") and not _tls():
        stream = await anyio.connect_tcp(parts.hostname or "127.0.0.1", parts.port or _USUAL_PORT)
    else:
        async with await anyio.open_process(_DIAL, stderr=None) as process:
            assert process.stdin is not None and process.stdout is not None
            try:
                yield StapledByteStream(process.stdin, process.stdout)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
        return
    try:
        yield stream
    finally:
        await anyio.aclose_forcefully(stream)


def _tls() -> bool:
    """Whether the environment asks for TLS, as Docker's own programs and library see it."""
    return bool(os.environ.get("DOCKER_TLS_VERIFY") or os.environ.get("DOCKER_CERT_PATH"))


def _request(api_version: str, command: str) -> bytes:
    body = json.dumps({"Detach": False, "Tty": False}).encode()
    lines = (
        f"POST /v{api_version}/exec/{command}/start HTTP/1.1",
        "Host: docker",
        "Content-Type: application/json",
        "Connection: Upgrade",
        "Upgrade: tcp",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def _accepted(stream: ByteStream) -> bytes:
    """Read the answer's head; what came after it."""
    text = bytearray()
    while b"\r\n\r\n" not in text:
        try:
            text += await stream.receive(_CHUNK)
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            raise AttachRefused("the Docker engine closed the connection") from None
        if len(text) > _LONGEST_HEAD and b"\r\n\r\n" not in text:
            raise AttachRefused("what answered at its address is no Docker engine")
    head, _, rest = bytes(text).partition(b"\r\n\r\n")
    status = head.split(b" ", 2)[1:2]
    if status and status[0].isdigit() and int(status[0]) in _TAKEN:
        return rest
    raise AttachRefused(await _refusal(stream, head, rest))


async def _refusal(stream: ByteStream, head: bytes, body: bytes) -> str:
    """The engine's words in an answer that is an error."""
    with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError), anyio.move_on_after(1):
        while not _whole(body):
            body += await stream.receive(_CHUNK)
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return head.split(b"\r\n", 1)[0].decode(errors="replace")


def _whole(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return len(body) > _LONGEST_HEAD
    return True
