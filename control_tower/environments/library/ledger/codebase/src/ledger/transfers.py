"""Transfers between accounts, and their reversals."""

from __future__ import annotations

import re
import sqlite3

from . import accounts, audit, db, ids, journal, money
from .errors import Conflict, InvalidRequest, NotFound
from .pagination import Page

_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,39}\Z")


def create(conn: sqlite3.Connection, actor: str, body: dict) -> dict:
    """Move money from one account to another."""
    amount = money.check_amount(body.get("amount"))
    currency = body.get("currency")
    money.exponent(currency)
    reference = _reference(body.get("reference"))
    memo = body.get("memo", "")
    if not isinstance(memo, str) or len(memo) > 140:
        raise InvalidRequest("memo must be a text of at most 140 characters", field="memo")
    if body.get("from_account") == body.get("to_account"):
        raise InvalidRequest("the two accounts must differ", field="to_account")
    with db.transaction(conn):
        payer = accounts.usable(conn, body.get("from_account"), currency)
        payee = accounts.usable(conn, body.get("to_account"), currency)
        accounts.require_funds(conn, payer, amount)
        transfer_id = _insert(
            conn, actor, payer["id"], payee["id"], amount, currency, reference, memo
        )
        audit.append(
            conn,
            actor,
            "transfer.create",
            transfer_id,
            {"from": payer["id"], "to": payee["id"], "amount": amount, "currency": currency},
        )
    return public(find(conn, transfer_id))


def reverse(conn: sqlite3.Connection, actor: str, transfer_id: str) -> dict:
    """Send a transfer's money back, once; returns the new transfer, of kind `reversal`."""
    with db.transaction(conn):
        original = find(conn, transfer_id)
        if original["kind"] == "reversal":
            raise Conflict("a reversal cannot be reversed", code="not_reversible")
        if original["status"] == "reversed":
            raise Conflict(f"transfer {transfer_id} was reversed before", code="already_reversed")
        payer = accounts.usable(conn, original["to_account"])
        payee = accounts.usable(conn, original["from_account"])
        accounts.require_funds(conn, payer, original["amount"])
        reversal_id = _insert(
            conn,
            actor,
            payer["id"],
            payee["id"],
            original["amount"],
            original["currency"],
            original["reference"],
            original["memo"],
            reversal_of=transfer_id,
        )
        conn.execute("UPDATE transfers SET status = 'reversed' WHERE id = ?", (transfer_id,))
        audit.append(
            conn,
            actor,
            "transfer.reverse",
            reversal_id,
            {
                "reversal_of": transfer_id,
                "from": payer["id"],
                "to": payee["id"],
                "amount": original["amount"],
                "currency": original["currency"],
            },
        )
    return public(find(conn, reversal_id))


def find(conn: sqlite3.Connection, transfer_id: str) -> sqlite3.Row:
    """The transfer's row, or NotFound."""
    row = conn.execute("SELECT * FROM transfers WHERE id = ?", (transfer_id,)).fetchone()
    if row is None:
        raise NotFound(f"no transfer {transfer_id}")
    return row


def page(
    conn: sqlite3.Connection, page: Page, account: str | None, reference: str | None
) -> list[sqlite3.Row]:
    """One row more than the page holds, when there is one."""
    return conn.execute(
        "SELECT * FROM transfers WHERE seq > ?"
        " AND (? IS NULL OR from_account = ? OR to_account = ?)"
        " AND (? IS NULL OR reference = ?) ORDER BY seq LIMIT ?",
        (page.after, account, account, account, reference, reference, page.limit + 1),
    ).fetchall()


def public(row: sqlite3.Row) -> dict:
    """A transfer as the API shows it."""
    return {key: value for key, value in dict(row).items() if key != "seq"}


def _insert(
    conn: sqlite3.Connection,
    actor: str,
    payer: str,
    payee: str,
    amount: int,
    currency: str,
    reference: str | None,
    memo: str,
    reversal_of: str | None = None,
) -> str:
    transfer_id, at = ids.new_id("tr"), ids.now()
    kind = "reversal" if reversal_of else "payment"
    conn.execute(
        "INSERT INTO transfers (id, from_account, to_account, amount, currency, reference, memo,"
        " kind, reversal_of, status, created_by, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'posted', ?, ?)",
        (
            transfer_id,
            payer,
            payee,
            amount,
            currency,
            reference,
            memo,
            kind,
            reversal_of,
            actor,
            at,
        ),
    )
    journal.post(conn, kind, transfer_id, [(payer, -amount), (payee, amount)], memo=memo, at=at)
    return transfer_id


def _reference(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _REFERENCE.match(value):
        raise InvalidRequest(
            "reference must be 1 to 40 letters, digits and . _ / -", field="reference"
        )
    return value
