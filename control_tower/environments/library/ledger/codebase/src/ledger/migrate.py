"""Numbered migrations, applied once each and in order.

A migration is `migrations/NNNN_name.sql` (a script) or `migrations/NNNN_name.py` with a function
`upgrade(conn)`. Each runs in a transaction of its own. Never edit an applied one: write the next.
"""

from __future__ import annotations

import importlib.util
import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from . import db, ids

FOLDER = Path(__file__).resolve().parent / "migrations"
_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.(sql|py)\Z")


@dataclass(frozen=True)
class Migration:
    """One step of the schema's history."""

    number: int
    path: Path

    def apply(self, conn: sqlite3.Connection) -> None:
        """Run the step on `conn`, inside the caller's transaction."""
        if self.path.suffix == ".sql":
            for statement in _statements(self.path.read_text(encoding="utf-8")):
                conn.execute(statement)
            return
        spec = importlib.util.spec_from_file_location(self.path.stem, self.path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.upgrade(conn)


def available(folder: Path = FOLDER) -> list[Migration]:
    """All migrations in order. Raises ValueError when two carry the same number."""
    found = [
        Migration(int(match.group(1)), path)
        for path in sorted(folder.iterdir())
        for match in [_NAME.match(path.name)]
        if match
    ]
    numbers = [migration.number for migration in found]
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"two migrations carry the same number: {numbers}")
    return found


def current(conn: sqlite3.Connection) -> int:
    """The number of the newest applied migration, 0 for an empty database."""
    conn.execute(
        "CREATE TABLE IF NOT EXISTS schema_migrations"
        " (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL)"
    )
    return conn.execute("SELECT COALESCE(MAX(number), 0) FROM schema_migrations").fetchone()[0]


def upgrade(conn: sqlite3.Connection) -> list[str]:
    """Apply what is missing; returns the names of the migrations applied now."""
    applied = []
    newest = current(conn)
    for migration in available():
        if migration.number <= newest:
            continue
        with db.transaction(conn):
            migration.apply(conn)
            conn.execute(
                "INSERT INTO schema_migrations VALUES (?, ?, ?)",
                (migration.number, migration.path.name, ids.now()),
            )
        applied.append(migration.path.name)
    return applied


def _statements(script: str) -> list[str]:
    """Split a script into statements, leaving trigger bodies whole."""
    statements, buffer = [], ""
    for line in script.splitlines(keepends=True):
        buffer += line
        if sqlite3.complete_statement(buffer):
            statements.append(buffer.strip())
            buffer = ""
    if buffer.strip() and not all(
        not line.strip() or line.lstrip().startswith("--") for line in buffer.splitlines()
    ):
        raise ValueError(f"unfinished statement in migration: {buffer.strip()[:80]!r}")
    return statements
