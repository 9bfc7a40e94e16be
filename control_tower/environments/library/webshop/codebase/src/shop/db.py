"""Connections to PostgreSQL, and three helpers that the rest of the shop gets by with.

Connections are in autocommit mode: outside of `transaction` each statement is on its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg2
import psycopg2.extras

Row = dict[str, Any]


def connect(url: str) -> Any:
    """A new connection, which hands out rows as dicts."""
    conn = psycopg2.connect(url, cursor_factory=psycopg2.extras.RealDictCursor)
    conn.autocommit = True
    return conn


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
