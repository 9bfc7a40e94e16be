"""A Docker engine that refuses when it is told to, and else is this machine's."""

from __future__ import annotations

import json
import re
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from control_tower.sandboxes.docker.engine import engine_host

_REQUEST = re.compile(rb"(?P<method>[A-Z]+) /v[0-9.]+(?P<path>/[^?\s]*)\S* HTTP/1\.1\r\n")
_LENGTH = re.compile(rb"\r\nContent-Length: *(\d+)\r\n", re.IGNORECASE)
_USUAL = "unix:///var/run/docker.sock"
_CHUNK = 65536


@dataclass(frozen=True)
class _Refusal:
    request: str
    having: bytes
    status: int
    words: str

    @property
    def answer(self) -> bytes:
        said = json.dumps({"message": self.words})
        return (
            f"HTTP/1.1 {self.status} refused\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(said)}\r\nConnection: close\r\n\r\n{said}"
        ).encode()


class FlakyEngine(socketserver.ThreadingUnixStreamServer):
    """Passes on what it is asked, byte by byte, but for what it refuses.

    Args:
        path: of its socket.
        engine: address of the real one.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, path: Path, engine: str) -> None:
        super().__init__(str(path), _Connection)
        self.host = f"unix://{path}"
        """What `DOCKER_HOST` has to say."""
        self.engine = urlsplit(engine).path
        self._refusals: list[_Refusal] = []
        self._asked: list[str] = []
        self._lock = threading.Lock()

    def asked(self, request: str) -> int:
        """How often it was asked for something, such as `POST /containers/create`."""
        with self._lock:
            return self._asked.count(request)

    def refuse(
        self, request: str, status: int, words: str, *, times: int = 1, having: str = ""
    ) -> None:
        """From now on refuse something so many times.

        Args:
            request: such as `POST /networks/create`.
            status: of the answer.
            words: of the answer.
            times: how often.
            having: only where this is in the request.
        """
        with self._lock:
            self._refusals += [_Refusal(request, having.encode(), status, words)] * times

    def answer_to(self, request: str, text: bytes) -> bytes | None:
        """How a request that came is to be answered, if it is to be refused."""
        with self._lock:
            self._asked.append(request)
            for refusal in self._refusals:
                if refusal.request == request and refusal.having in text:
                    self._refusals.remove(refusal)
                    return refusal.answer
        return None


@contextmanager
def flaky_engine(folder: Path) -> Iterator[FlakyEngine]:
    """One that answers on a socket in `folder` for as long as this lasts."""
    with FlakyEngine(folder / "engine.sock", engine_host() or _USUAL) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


class _Connection(socketserver.BaseRequestHandler):
    server: FlakyEngine

    def handle(self) -> None:
        client: socket.socket = self.request
        with socket.socket(socket.AF_UNIX) as engine, suppress(OSError):
            engine.connect(self.server.engine)
            answers = threading.Thread(target=_pass_on, args=(engine, client), daemon=True)
            answers.start()
            while chunk := client.recv(_CHUNK):
                if found := _REQUEST.match(chunk):
                    chunk = _whole(client, chunk)
                    answer = self.server.answer_to(b" ".join(found.groups()).decode(), chunk)
                    if answer is not None:
                        client.sendall(answer)
                        return
                engine.sendall(chunk)
            engine.shutdown(socket.SHUT_WR)
            answers.join()


def _pass_on(engine: socket.socket, client: socket.socket) -> None:
    with suppress(OSError):
        while chunk := engine.recv(_CHUNK):
            client.sendall(chunk)
        client.shutdown(socket.SHUT_WR)


def _whole(client: socket.socket, request: bytes) -> bytes:
    """A request whose beginning has been read, with all of its body."""
    while b"\r\n\r\n" not in request:
        request += client.recv(_CHUNK)
    head, _, body = request.partition(b"\r\n\r\n")
    length = _LENGTH.search(head + b"\r\n")
    while length and len(body) < int(length[1]):
        more = client.recv(_CHUNK)
        request, body = request + more, body + more
    return request
