"""Fills a new database with the data of seed/: one CSV file for each table."""

from __future__ import annotations

from typing import Any

from . import db
from .config import ROOT

FOLDER = ROOT / "seed"
TABLES = (
    "vat_rates",
    "categories",
    "products",
    "price_changes",
    "customers",
    "staff",
    "orders",
    "order_lines",
    "payments",
    "refunds",
    "stock_moves",
    "audit",
)


def fill(conn: Any) -> bool:
    """Load the seed into an empty database; returns whether there was anything to do."""
    if db.one(conn, "SELECT 1 FROM products LIMIT 1"):
        return False
    with db.transaction(conn):
        for table in TABLES:
            with open(FOLDER / f"{table}.csv", encoding="utf-8") as stream:
                columns = stream.readline().strip()
                with conn.cursor() as cursor:
                    cursor.copy_expert(
                        f"COPY {table} ({columns}) FROM STDIN (FORMAT csv, NULL '\\N')", stream
                    )
            if columns.startswith("id,"):
                db.run(
                    conn,
                    f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table}",
                )
    return True
