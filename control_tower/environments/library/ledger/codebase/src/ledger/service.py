"""The running service: set-up before it serves, its log and pid file, and asking it how it is.

The admin command line imports this for every command, so the HTTP modules are imported where they
are used: they take longer to load than most commands to run.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from contextlib import closing

from . import db, migrate, seed
from .config import Config

log = logging.getLogger("ledger.service")


def prepare(config: Config) -> list[str]:
    """Bring the database up to date and seed a new one; returns the migrations applied."""
    with closing(db.connect(config.database)) as conn:
        applied = migrate.upgrade(conn)
        if seed.is_needed(conn):
            seed.apply(conn, config.seed_dir)
    return applied


def serve(config: Config) -> None:
    """Serve until SIGTERM or Ctrl-C. The pid file exists while the port is ours."""
    from .api.server import Server

    _start_log(config)
    applied = prepare(config)
    if applied:
        log.info("applied %s", ", ".join(applied))
    server = Server(config)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    config.pid_file.parent.mkdir(parents=True, exist_ok=True)
    config.pid_file.write_text(f"{os.getpid()}\n", encoding="ascii")
    log.info("serving on %s, pid %d", config.base_url, os.getpid())
    try:
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()
        config.pid_file.unlink(missing_ok=True)
        log.info("stopped")


def health(config: Config, timeout: float = 2.0) -> dict | None:
    """What the server says of itself, or None when it does not answer within `timeout` seconds."""
    from http.client import HTTPConnection, HTTPException

    with closing(HTTPConnection(config.host, config.port, timeout=timeout)) as conn:
        try:
            conn.request("GET", "/health")
            state = json.loads(conn.getresponse().read())
        except (OSError, ValueError, HTTPException):
            return None
    return state if isinstance(state, dict) and state.get("status") == "ok" else None


def _start_log(config: Config) -> None:
    config.log_file.parent.mkdir(parents=True, exist_ok=True)
    logging.basicConfig(
        filename=str(config.log_file),
        level=config.log_level,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
