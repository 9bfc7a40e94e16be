"""Refunds by the back office. docs/refunds.md has the reasons."""

from __future__ import annotations

from typing import Any

from . import audit, db, orders, psp
from .config import Config

REASONS = {"P": "wrong price", "R": "goods returned", "G": "goodwill"}


class Refused(Exception):
    """A refund that is not possible; the text says why."""


def give(
    conn: Any, config: Config, member: db.Row, number: str, amount: int, reason: str, note: str
) -> None:
    """Pay back a part of an order. Raises Refused."""
    if reason not in REASONS:
        raise Refused("a reason is needed")
    if member["role"] != "manager" and amount > config.support_refund_limit_cents:
        raise Refused("this is for managers")
    order = orders.get(conn, number)
    if order is None or order["status"] != "paid":
        raise Refused("no such order, or it was cancelled")
    if not 0 < amount <= order["total_cents"] - order["refunded_cents"]:
        raise Refused("more than was paid")
    with db.transaction(conn):
        try:
            orders.pay_back(conn, config, number, amount)
        except (psp.Unavailable, orders.Refused) as error:
            raise Refused(f"the provider refuses: {error}") from error
        db.run(
            conn,
            "INSERT INTO refunds (number, amount_cents, reason, note, staff)"
            " VALUES (%s, %s, %s, %s, %s)",
            (number, amount, reason, note, member["login"]),
        )
        details = {"amount_cents": amount, "reason": reason, "note": note}
        audit.record(conn, member["login"], "order.refund", number, details)


def of_order(conn: Any, number: str) -> list[db.Row]:
    """The refunds of an order, oldest first."""
    return db.rows(conn, "SELECT * FROM refunds WHERE number = %s ORDER BY id", (number,))
