"""The HTTP server."""

from __future__ import annotations

import json
import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

import redis

from .. import ids, store
from ..config import Settings
from ..errors import Invalid, MillraceError
from ..logs import Log
from ..queue import Queue
from . import auth, routes

LARGEST_BODY = 1_000_000


class Server(ThreadingHTTPServer):
    """Threads for requests; they share one connection pool."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.db = store.connect(settings)
        self.queue = Queue(settings, self.db)
        self.log = Log(settings.log, "http.log", "http")
        self.since = ids.now()
        super().__init__((settings.http_host, settings.http_port), Handler)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    timeout = 30

    def do_GET(self) -> None:
        """Answer; so do the others."""
        began = ids.now()
        self.who = "-"
        try:
            status, answer = self._answer()
        except MillraceError as error:
            status, answer = error.status, _error(error.code, str(error))
        except redis.RedisError as error:
            self.server.log.write("no_redis", error=error)
            status, answer = 503, _error("unavailable", "the store does not answer")
        except Exception as error:
            self.server.log.write("fault", error=repr(error))
            status, answer = 500, _error("internal", "something is broken on our side")
        path, took = urlsplit(self.path).path, ids.now() - began
        self.server.log.write(
            "request", method=self.command, path=path, who=self.who, status=status, ms=took
        )
        self._reply(status, answer)

    do_POST = do_PATCH = do_DELETE = do_GET

    def _answer(self) -> routes.Answer:
        url = urlsplit(self.path)
        body = self._body()
        if url.path == "/health":
            self.server.db.ping()
            about = {"pid": os.getpid(), "since": self.server.since}
            return 200, {"status": "ok", "label": self.server.settings.label, **about}
        matches = [(r, m) for r in routes.ROUTES if (m := r.path.fullmatch(url.path))]
        if not matches:
            return 404, _error("unknown_path", f"there is no {url.path}")
        for route, match in matches:
            if route.method == self.command:
                request = self._request(route, dict(parse_qsl(url.query)), body)
                return route.handle(request, *match.groups())
        return 405, _error("wrong_method", f"{url.path} has no {self.command}")

    def _request(self, route: routes.Route, query: dict, body: bytes) -> routes.Request:
        tenant = None
        if route.may == "admin":
            auth.admin(self.server.settings, self.server.db, self.headers)
            self.who = "admin"
        else:
            tenant = auth.tenant(self.server.db, self.headers)
            self.who = tenant.id
        try:
            parsed = json.loads(body) if body else {}
        except (ValueError, RecursionError):
            raise Invalid("the body is no JSON", code="invalid_json") from None
        if not isinstance(parsed, dict):
            raise Invalid("the body has to be an object", code="invalid_json")
        return routes.Request(self.server.queue, tenant, query, parsed)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length") or "0"
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            raise Invalid(f"a body of up to {LARGEST_BODY} bytes", code="invalid_body")
        return self.rfile.read(int(length))

    def _reply(self, status: int, answer: object) -> None:
        plain = isinstance(answer, str)
        data = answer.encode() if plain else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if plain else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """The log has its own form."""


def _error(code: str, message: str) -> dict:
    return {"error": {"code": code, "message": message}}


def serve(settings: Settings) -> None:
    """Answer requests until told to stop."""
    server = Server(settings)

    def stop(*_: object) -> None:
        threading.Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, stop)
    server.log.write("up", pid=os.getpid())
    settings.run.mkdir(parents=True, exist_ok=True)
    (settings.run / "http.pid").write_text(f"{os.getpid()}\n", encoding="utf-8")
    server.serve_forever(poll_interval=0.1)
    server.server_close()
