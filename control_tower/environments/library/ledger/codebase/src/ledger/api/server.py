"""The HTTP server: one thread and one database connection a request."""

from __future__ import annotations

import json
import logging
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from .. import db
from ..config import Config
from ..errors import InvalidRequest, LedgerError
from . import money_handlers, record_handlers  # noqa: F401  (they register their routes)
from .router import Request, Response, dispatch

log = logging.getLogger("ledger.api")

LARGEST_BODY = 64 * 1024


class Server(ThreadingHTTPServer):
    """The server of one deployment."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, config: Config) -> None:
        self.config = config
        super().__init__((config.host, config.port), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "ledger"
    sys_version = ""
    timeout = 30
    wbufsize = -1
    server: Server

    def do_GET(self) -> None:
        self._answer()

    do_POST = do_DELETE = do_PUT = do_PATCH = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Silence the base class; _answer writes the access log."""

    def _answer(self) -> None:
        started = time.monotonic()
        try:
            response = self._respond()
        except LedgerError as error:
            response = Response(error.envelope(), error.status)
        except Exception:
            log.exception("%s %s failed", self.command, self.path)
            message = "something went wrong on our side"
            response = Response({"error": {"code": "internal", "message": message}}, 500)
        self._send(response)
        elapsed = (time.monotonic() - started) * 1000
        log.info("%s %s %d %.1fms", self.command, self.path, response.status, elapsed)

    def _respond(self) -> Response:
        url = urlsplit(self.path)
        body = self._read_body()
        with closing(db.connect(self.server.config.database)) as conn:
            return dispatch(
                Request(
                    config=self.server.config,
                    conn=conn,
                    method=self.command,
                    path=url.path.rstrip("/") or "/",
                    query=dict(parse_qsl(url.query)),
                    headers=self.headers,
                    raw_body=body,
                )
            )

    def _read_body(self) -> bytes:
        try:
            length = int(self.headers.get("Content-Length", "0"))
        except ValueError:
            length = -1
        if not 0 <= length <= LARGEST_BODY:
            self.close_connection = True
            raise InvalidRequest(f"a body must have a length of at most {LARGEST_BODY} bytes")
        return self.rfile.read(length)

    def _send(self, response: Response) -> None:
        payload = json.dumps(response.body).encode() + b"\n"
        self.send_response(response.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)
