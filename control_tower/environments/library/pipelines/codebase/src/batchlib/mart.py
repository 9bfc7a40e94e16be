"""The data mart: one SQLite file in the root."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

from batchlib import config

SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, shop TEXT NOT NULL, night TEXT NOT NULL,
    rows INTEGER NOT NULL, bad INTEGER NOT NULL, complete INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS orders (
    order_id TEXT PRIMARY KEY, shop TEXT NOT NULL, placed_at TEXT NOT NULL, day TEXT NOT NULL,
    name TEXT NOT NULL, email TEXT NOT NULL, phone TEXT NOT NULL, country TEXT NOT NULL,
    partner TEXT NOT NULL, gross INTEGER NOT NULL, status TEXT NOT NULL, source TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS orders_by_day ON orders (day);
CREATE TABLE IF NOT EXISTS shipments (
    order_id TEXT NOT NULL, kind TEXT NOT NULL, at TEXT NOT NULL, carrier TEXT NOT NULL,
    parcels INTEGER NOT NULL, source TEXT NOT NULL, PRIMARY KEY (order_id, kind, at)
);
CREATE TABLE IF NOT EXISTS invoices (
    number INTEGER PRIMARY KEY, order_id TEXT NOT NULL UNIQUE, night TEXT NOT NULL,
    net INTEGER NOT NULL, vat INTEGER NOT NULL, gross INTEGER NOT NULL
);
"""


def connect() -> sqlite3.Connection:
    """Open the mart, made if it is not there. Each statement is a transaction unless one is begun."""
    path = config.root() / "mart.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    conn = sqlite3.connect(path, timeout=20, isolation_level=None)
    conn.row_factory = sqlite3.Row
    conn.executescript(SCHEMA)
    return conn


def main(argv: list[str]) -> None:
    """Make the mart, with what the dump holds if there is one."""
    conn = connect()
    dump = Path(argv[0])
    if dump.exists():
        conn.executescript("BEGIN;\n" + dump.read_text(encoding="utf-8") + "COMMIT;\n")


if __name__ == "__main__":
    main(sys.argv[1:])
