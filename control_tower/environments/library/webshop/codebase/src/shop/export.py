"""Order lines as text, for bookkeeping's programs. docs/takings.md has the format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import db, money


def lines(conn: Any, day: str | None = None) -> Iterator[str]:
    """One line for each order line, and one for each refund, by day and number."""
    yield "#type;day;number;detail;quantity;gross;vat"
    for row in db.rows(
        conn,
        "SELECT 'S' AS type, to_char(o.placed_at, 'YYYY-MM-DD') AS day, o.number,"
        " l.vat_basis_points::text AS detail, l.quantity, l.gross_cents,"
        " l.vat_cents, l.line AS place"
        " FROM orders o JOIN order_lines l USING (number) WHERE o.status = 'paid'"
        " UNION ALL"
        " SELECT 'R', to_char(made_at, 'YYYY-MM-DD'), number, reason, 1, amount_cents, 0, id"
        " FROM refunds WHERE status = 'done'"
        " ORDER BY day, number, type DESC, place",
    ):
        if day in (None, row["day"]):
            amounts = f"{money.euros(row['gross_cents'])};{money.euros(row['vat_cents'])}"
            yield ";".join(
                [
                    row["type"],
                    row["day"],
                    row["number"],
                    row["detail"],
                    str(row["quantity"]),
                    amounts,
                ]
            )
