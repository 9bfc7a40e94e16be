"""What is in the warehouse. `products.on_hand` and the journal `stock_moves` say the same."""

from __future__ import annotations

from typing import Any

from . import db


def on_hand(conn: Any, sku: str) -> int:
    """How many pieces there are."""
    found = db.one(conn, "SELECT on_hand FROM products WHERE sku = %s", (sku,))
    return found["on_hand"] if found else 0


def move(conn: Any, sku: str, quantity: int, reason: str, number: str | None = None) -> None:
    """Pieces come in, or go out if `quantity` is negative."""
    left = on_hand(conn, sku) + quantity
    db.run(conn, "UPDATE products SET on_hand = %s WHERE sku = %s", (left, sku))
    db.run(
        conn,
        "INSERT INTO stock_moves (sku, quantity, reason, number) VALUES (%s, %s, %s, %s)",
        (sku, quantity, reason, number),
    )


def differences(conn: Any) -> list[db.Row]:
    """Articles where on_hand is not what the journal says."""
    return db.rows(
        conn,
        "SELECT p.sku, p.on_hand, COALESCE(SUM(m.quantity), 0)::integer AS journal FROM products p"
        " LEFT JOIN stock_moves m USING (sku) GROUP BY p.sku"
        " HAVING p.on_hand <> COALESCE(SUM(m.quantity), 0) ORDER BY p.sku",
    )
