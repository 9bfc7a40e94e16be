"""Numbered migrations, applied once each and in order.

A migration is `migrations/NNNN_name.sql`. Each runs in a transaction of its own, together with the
line that remembers it. Never edit an applied one: write the next. docs/deploy.md has the rules.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from . import db
from .config import ROOT

FOLDER = ROOT / "migrations"
_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql\Z")


def available(folder: Path = FOLDER) -> list[tuple[int, Path]]:
    """All migrations in order. Raises ValueError when two carry the same number."""
    found = [
        (int(match[1]), path)
        for path in sorted(folder.iterdir())
        if (match := _NAME.match(path.name))
    ]
    numbers = [number for number, _ in found]
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"two migrations carry the same number: {numbers}")
    return found


def applied(conn: Any) -> set[int]:
    """The numbers of the migrations that the database has."""
    db.run(
        conn,
        "CREATE TABLE IF NOT EXISTS schema_migrations (number integer PRIMARY KEY,"
        " name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())",
    )
    return {row["number"] for row in db.rows(conn, "SELECT number FROM schema_migrations")}


def upgrade(conn: Any) -> list[str]:
    """Apply what is missing; returns the names of the migrations applied now."""
    done = []
    known = applied(conn)
    for number, path in available():
        if number in known:
            continue
        with db.transaction(conn):
            db.run(conn, path.read_text(encoding="utf-8"))
            db.run(
                conn,
                "INSERT INTO schema_migrations (number, name) VALUES (%s, %s)",
                (number, path.name),
            )
        done.append(path.name)
    return done
