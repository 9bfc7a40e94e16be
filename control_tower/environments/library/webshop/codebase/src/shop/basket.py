"""The basket of a session."""

from __future__ import annotations

from typing import Any

from . import catalogue, db
from .config import Config

MOST = 20
"""The most pieces of one article in a basket."""


def lines(conn: Any, config: Config, session_id: str) -> list[db.Row]:
    """What is in the basket, in the order of articles; prices whose hold is over are renewed."""
    db.run(
        conn,
        "UPDATE basket_lines b SET unit_cents = p.price_cents, priced_at = now() FROM products p"
        " WHERE p.sku = b.sku AND b.session_id = %s"
        " AND b.priced_at < now() - %s * interval '1 minute'",
        (session_id, config.price_hold_minutes),
    )
    return db.rows(
        conn,
        "SELECT b.sku, b.quantity, b.unit_cents, b.priced_at, p.name, p.category"
        " FROM basket_lines b JOIN products p USING (sku) WHERE b.session_id = %s ORDER BY b.sku",
        (session_id,),
    )


def add(conn: Any, session_id: str, sku: str, quantity: int) -> None:
    """Put so many pieces more into the basket. Raises LookupError for what is not on sale."""
    article = catalogue.product(conn, sku)
    if article is None:
        raise LookupError(f"not on sale: {sku}")
    db.run(
        conn,
        "INSERT INTO basket_lines (session_id, sku, quantity, unit_cents) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (session_id, sku)"
        " DO UPDATE SET quantity = LEAST(basket_lines.quantity + excluded.quantity, %s)",
        (session_id, sku, min(quantity, MOST), article["price_cents"], MOST),
    )


def change(conn: Any, session_id: str, sku: str, quantity: int) -> None:
    """Have so many pieces in the basket; none takes the article out."""
    if quantity <= 0:
        db.run(
            conn,
            "DELETE FROM basket_lines WHERE session_id = %s AND sku = %s",
            (session_id, sku),
        )
        return
    db.run(
        conn,
        "UPDATE basket_lines SET quantity = %s WHERE session_id = %s AND sku = %s",
        (min(quantity, MOST), session_id, sku),
    )


def clear(conn: Any, session_id: str) -> None:
    """Empty the basket."""
    db.run(conn, "DELETE FROM basket_lines WHERE session_id = %s", (session_id,))
