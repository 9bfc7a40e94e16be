"""The WSGI application, and the server that runs it."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
from collections.abc import Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import psycopg2

from . import db, migrate, pages, psp, seed, sessions, web
from .config import Config

log = logging.getLogger("shop")


class App:
    """The shop as a WSGI application."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.pool = db.Pool(config.database)
        pages.load()

    def __call__(self, environ: dict, start_response: Any) -> Iterable[bytes]:
        """Answer one request."""
        if environ["PATH_INFO"] == "/health":
            answer = self._health()
        else:
            answer = self._page(environ)
        data = answer.body.encode()
        headers = [("Content-Type", answer.content_type), ("Content-Length", str(len(data)))]
        start_response(answer.status_line, [*headers, *answer.headers])
        return [data]

    def _health(self) -> web.Response:
        try:
            with self.pool.connection() as conn:
                db.one(conn, "SELECT 1 AS one")
        except psycopg2.Error as error:
            return web.Response(f"{error}\n", 500, content_type="text/plain")
        state = json.dumps({"status": "ok", "pid": os.getpid()})
        return web.Response(state, content_type="application/json")

    def _page(self, environ: dict) -> web.Response:
        try:
            with self.pool.connection() as conn:
                return self._answer(conn, environ)
        except Exception:
            log.exception("%s %s", environ["REQUEST_METHOD"], environ["PATH_INFO"])
            return web.Response("<h1>Something went wrong</h1>", 500)

    def _answer(self, conn: Any, environ: dict) -> web.Response:
        session = sessions.open_session(conn, web.cookie(environ))
        request = web.Request(
            self.config,
            conn,
            environ["REQUEST_METHOD"],
            environ["PATH_INFO"],
            web.fields(environ.get("QUERY_STRING", "")),
            {},
            session,
        )
        try:
            if request.method == "POST":
                request.form = web.read_form(environ)
            answer = web.dispatch(request)
        except web.Failed as error:
            answer = request.page("failed", error.status, text=str(error))
        except psp.Unavailable as error:
            log.error("provider: %s", error)
            text = "The payment provider does not answer. Please try again later."
            answer = request.page("failed", 502, text=text)
        if request.session.new_cookie:
            value = (
                f"{sessions.COOKIE}={request.session.new_cookie}; Path=/; HttpOnly; SameSite=Lax"
            )
            answer.headers.append(("Set-Cookie", value))
        log.info("%s %s %d", request.method, request.path, answer.status)
        return answer


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 64


class _Quiet(WSGIRequestHandler):
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:
        """The application has its own log."""

    def address_string(self) -> str:
        """Without asking a name server."""
        return str(self.client_address[0])


def prepare(config: Config) -> list[str]:
    """Bring the database up to date, and fill it if it is new; returns the migrations applied."""
    conn = db.connect(config.database)
    try:
        done = migrate.upgrade(conn)
        seed.fill(conn)
        return done
    finally:
        conn.close()


def serve(config: Config) -> None:
    """Serve until SIGTERM or Ctrl-C. The pid file exists while the port is ours."""
    config.var.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        filename=config.var / "server.log",
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    for name in prepare(config):
        log.info("migrated: %s", name)
    httpd = make_server(config.host, config.port, App(config), _Server, _Quiet)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=httpd.shutdown).start())
    config.pid_file.write_text(f"{os.getpid()}\n", encoding="ascii")
    log.info("serving on %s, pid %d", config.base_url, os.getpid())
    try:
        httpd.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        pass
    finally:
        httpd.server_close()
        config.pid_file.unlink(missing_ok=True)
