"""Orders: placing, reading and cancelling them."""

from __future__ import annotations

from typing import Any

from . import basket, customers, db, pricing, psp, stock
from .config import Config


class Refused(Exception):
    """An order that cannot be placed or cancelled; `code` is for programs, the text for people."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def place(conn: Any, config: Config, session_id: str, customer_id: int, card: dict) -> str:
    """Turn the basket of a session into a paid order; returns its number. Raises Refused."""
    customer = customers.get(conn, customer_id)
    if not customer["address"]:
        raise Refused("no_address", "please enter your address first")
    quote = pricing.quote(conn, config, basket.lines(conn, config, session_id))
    if not quote.lines:
        raise Refused("empty", "your basket is empty")
    for line in quote.lines:
        if stock.on_hand(conn, line.sku) < line.quantity:
            raise Refused("sold_out", f"{line.name} is sold out")
    number = new_number(conn)
    try:
        charge_id = psp.charge(config, number, quote.total_cents, card)
    except psp.Declined:
        raise Refused("declined", "your card was declined") from None
    with db.transaction(conn):
        insert(conn, number, customer, quote)
        db.run(
            conn,
            "INSERT INTO payments (number, kind, psp_id, amount_cents, card_last4)"
            " VALUES (%s, 'charge', %s, %s, %s)",
            (number, charge_id, quote.total_cents, card["number"][-4:]),
        )
        for line in quote.lines:
            stock.move(conn, line.sku, -line.quantity, "sale", number)
        basket.clear(conn, session_id)
    return number


def new_number(conn: Any) -> str:
    """The next order number."""
    return db.rows(conn, "SELECT 'W' || nextval('order_numbers') AS number")[0]["number"]


def insert(conn: Any, number: str, customer: db.Row, quote: pricing.Quote) -> None:
    """Write an order and its lines."""
    db.run(
        conn,
        "INSERT INTO orders (number, customer_id, status, goods_cents, shipping_cents, total_cents,"
        " ship_name, ship_address) VALUES (%s, %s, 'paid', %s, %s, %s, %s, %s)",
        (
            number,
            customer["id"],
            quote.goods_cents,
            quote.shipping_cents,
            quote.total_cents,
            customer["name"],
            customer["address"],
        ),
    )
    for count, line in enumerate(quote.lines, 1):
        db.run(
            conn,
            "INSERT INTO order_lines (number, line, sku, name, quantity, unit_cents, gross_cents,"
            " vat_basis_points, vat_cents, priced_at)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            (
                number,
                count,
                line.sku,
                line.name,
                line.quantity,
                line.unit_cents,
                line.gross_cents,
                line.vat_basis_points,
                line.vat_cents,
                line.priced_at,
            ),
        )


def get(conn: Any, number: str) -> db.Row | None:
    """An order with its lines and what was paid back of it."""
    order = db.one(
        conn,
        "SELECT o.*, c.email FROM orders o JOIN customers c ON c.id = o.customer_id"
        " WHERE o.number = %s",
        (number,),
    )
    if order is None:
        return None
    lines = db.rows(conn, "SELECT * FROM order_lines WHERE number = %s ORDER BY line", (number,))
    order["lines"] = lines
    order["vat_cents"] = sum(line["vat_cents"] for line in lines)
    order["refunded_cents"] = refunded(conn, number)
    return order


def refunded(conn: Any, number: str) -> int:
    """What was paid back of an order, in cents."""
    return db.rows(
        conn,
        "SELECT COALESCE(SUM(amount_cents), 0)::integer AS paid FROM payments"
        " WHERE number = %s AND kind = 'refund'",
        (number,),
    )[0]["paid"]


def of_customer(conn: Any, customer_id: int) -> list[db.Row]:
    """A customer's orders, newest first."""
    return db.rows(
        conn,
        "SELECT * FROM orders WHERE customer_id = %s ORDER BY placed_at DESC, number DESC",
        (customer_id,),
    )


def recent(conn: Any, limit: int = 100) -> list[db.Row]:
    """The newest orders."""
    return db.rows(
        conn,
        "SELECT o.*, c.email FROM orders o JOIN customers c ON c.id = o.customer_id"
        " ORDER BY o.placed_at DESC, o.number DESC LIMIT %s",
        (limit,),
    )


def cancel(conn: Any, config: Config, number: str) -> None:
    """Cancel an order: the goods go back, and so does the money. Raises Refused."""
    order = get(conn, number)
    if order is None or order["status"] != "paid":
        raise Refused("not_open", "this order cannot be cancelled")
    for line in order["lines"]:
        stock.move(conn, line["sku"], line["quantity"], "cancelled", number)
    pay_back(conn, config, number, order["total_cents"] - order["refunded_cents"])
    db.run(conn, "UPDATE orders SET status = 'cancelled' WHERE number = %s", (number,))


def pay_back(conn: Any, config: Config, number: str, amount: int) -> None:
    """Give an amount back to the card that was charged."""
    if amount <= 0:
        return
    charge = db.one(
        conn, "SELECT psp_id FROM payments WHERE number = %s AND kind = 'charge'", (number,)
    )
    if charge is None:
        raise Refused("not_charged", "nothing was charged for this order")
    psp_id = psp.refund(config, charge["psp_id"], amount)
    db.run(
        conn,
        "INSERT INTO payments (number, kind, psp_id, amount_cents) VALUES (%s, 'refund', %s, %s)",
        (number, psp_id, amount),
    )
