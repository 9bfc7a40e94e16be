"""Connections to PostgreSQL, and three helpers that the rest of the shop gets by with.

Connections are in autocommit mode: outside of `transaction` each statement is on its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg2
import psycopg2.extensions
import psycopg2.extras

Row = dict[str, Any]


def connect(url: str) -> Any:
    """A new connection, which hands out rows as dicts."""
    conn = psycopg2.connect(url, cursor_factory=psycopg2.extras.RealDictCursor)
    conn.autocommit = True
    return conn


class Pool:
    """Connections that are handed out again: opening one costs more than most pages."""

    def __init__(self, url: str, idle: int = 10) -> None:
        self._url = url
        self._idle = idle
        self._free: list[Any] = []
        self._lock = threading.Lock()

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """A connection for one request. One that is broken or in a transaction is not kept."""
        with self._lock:
            conn = self._free.pop() if self._free else None
        conn = conn or connect(self._url)
        try:
            yield conn
        finally:
            clean = (
                not conn.closed
                and conn.info.transaction_status == psycopg2.extensions.TRANSACTION_STATUS_IDLE
            )
            with self._lock:
                clean = clean and len(self._free) < self._idle
                if clean:
                    self._free.append(conn)
            if not clean:
                conn.close()


@contextmanager
def transaction(conn: Any) -> Iterator[None]:
    """All or nothing. Transactions do not nest."""
    run(conn, "BEGIN")
    try:
        yield
    except BaseException:
        run(conn, "ROLLBACK")
        raise
    run(conn, "COMMIT")


def run(conn: Any, sql: str, args: Sequence[Any] = ()) -> int:
    """Run a statement; returns how many rows it touched."""
    with conn.cursor() as cursor:
        cursor.execute(sql, args or None)
        return cursor.rowcount


def rows(conn: Any, sql: str, args: Sequence[Any] = ()) -> list[Row]:
    """All rows of a query, or of a statement with RETURNING."""
    with conn.cursor() as cursor:
        cursor.execute(sql, args or None)
        return [dict(row) for row in cursor.fetchall()]


def one(conn: Any, sql: str, args: Sequence[Any] = ()) -> Row | None:
    """The first row, or None."""
    found = rows(conn, sql, args)
    return found[0] if found else None
