"""Articles, their prices and their VAT."""

from __future__ import annotations

from typing import Any

from . import db


def categories(conn: Any) -> list[db.Row]:
    """All categories, by name."""
    return db.rows(conn, "SELECT * FROM categories ORDER BY name")


def products(conn: Any, category: str | None = None) -> list[db.Row]:
    """What is on sale, by name, of one category if it is given."""
    return db.rows(
        conn,
        "SELECT * FROM products WHERE active AND (%s::text IS NULL OR category = %s) ORDER BY name",
        (category, category),
    )


def product(conn: Any, sku: str) -> db.Row | None:
    """An article that is on sale."""
    return db.one(conn, "SELECT * FROM products WHERE sku = %s AND active", (sku,))


def vat_rate(conn: Any, sku: str) -> int:
    """Today's rate for an article, in basis points."""
    found = db.one(
        conn,
        "SELECT r.basis_points FROM products p JOIN categories c ON c.code = p.category"
        " JOIN vat_rates r ON r.vat_class = c.vat_class AND r.valid_from <= current_date"
        " WHERE p.sku = %s ORDER BY r.valid_from DESC LIMIT 1",
        (sku,),
    )
    if found is None:
        raise LookupError(f"no VAT rate for {sku}")
    return found["basis_points"]


def set_price(conn: Any, sku: str, cents: int, source: str, run: int | None = None) -> None:
    """A new price from now on. Raises LookupError for an article that is not there."""
    if not db.run(conn, "UPDATE products SET price_cents = %s WHERE sku = %s", (cents, sku)):
        raise LookupError(f"no such article: {sku}")
    db.run(
        conn,
        "INSERT INTO price_changes (sku, price_cents, source, run) VALUES (%s, %s, %s, %s)",
        (sku, cents, source, run),
    )
