"""Accounts, their balances, and money that comes in from the bank."""

from __future__ import annotations

import sqlite3

from . import audit, customers, db, ids, journal, money
from .errors import Conflict, InvalidRequest, NotFound, Unprocessable
from .pagination import Page

SYSTEM_ROLES = ("bank", "rounding")
"""Each currency has these system accounts, and one for each leg of the fee plans."""


def system_account(role: str, currency: str) -> str:
    """The id of a system account: `acct_sys_bank_eur`, `acct_sys_fee_platform_eur`."""
    return f"acct_sys_{role}_{currency.lower()}"


def create(conn: sqlite3.Connection, actor: str, body: dict) -> dict:
    """Open an account for a customer."""
    name = body.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= 80:
        raise InvalidRequest("name must be a text of 1 to 80 characters", field="name")
    currency = body.get("currency")
    money.exponent(currency)
    owner = customers.find(conn, str(body.get("customer_id")))
    account_id = ids.new_id("acct")
    with db.transaction(conn):
        conn.execute(
            "INSERT INTO accounts (id, customer_id, name, kind, currency, created_at)"
            " VALUES (?, ?, ?, 'customer', ?, ?)",
            (account_id, owner["id"], name, currency, ids.now()),
        )
        audit.append(conn, actor, "account.create", account_id, {"currency": currency})
    return public(conn, find(conn, account_id))


def find(conn: sqlite3.Connection, account_id: object) -> sqlite3.Row:
    """The account's row, or NotFound."""
    row = conn.execute("SELECT * FROM accounts WHERE id = ?", (str(account_id),)).fetchone()
    if row is None:
        raise NotFound(f"no account {account_id}")
    return row


def usable(
    conn: sqlite3.Connection, account_id: object, currency: str | None = None
) -> sqlite3.Row:
    """The account's row if money may move on it (in `currency`)."""
    row = find(conn, account_id)
    if row["status"] != "open":
        raise Conflict(f"account {row['id']} is {row['status']}", code="account_not_open")
    if currency is not None and row["currency"] != currency:
        raise Unprocessable(
            f"account {row['id']} is kept in {row['currency']}, not {currency}",
            code="currency_mismatch",
        )
    return row


def held(conn: sqlite3.Connection, account_id: str) -> int:
    """Minor units that open holds reserve on an account."""
    return conn.execute(
        "SELECT COALESCE(SUM(amount - captured), 0) FROM holds"
        " WHERE account_id = ? AND status = 'open'",
        (account_id,),
    ).fetchone()[0]


def available(conn: sqlite3.Connection, row: sqlite3.Row) -> int:
    """What may be spent: the balance less what is held."""
    return row["balance"] - held(conn, row["id"])


def require_funds(conn: sqlite3.Connection, row: sqlite3.Row, amount: int) -> None:
    """Raise Conflict unless the account can spend `amount`. System accounts always can."""
    if row["kind"] == "customer" and available(conn, row) < amount:
        raise Conflict(
            f"account {row['id']} has {available(conn, row)} available, {amount} needed",
            code="insufficient_funds",
        )


def set_status(conn: sqlite3.Connection, actor: str, account_id: str, status: object) -> dict:
    """Freeze an account or open it again."""
    if status not in ("open", "frozen"):
        raise InvalidRequest("status must be open or frozen", field="status")
    row = find(conn, account_id)
    if row["kind"] == "system":
        raise Conflict("system accounts cannot be frozen", code="system_account")
    with db.transaction(conn):
        conn.execute("UPDATE accounts SET status = ? WHERE id = ?", (status, account_id))
        audit.append(conn, actor, "account.status", account_id, {"status": status})
    return public(conn, find(conn, account_id))


def deposit(conn: sqlite3.Connection, actor: str, account_id: str, body: dict) -> dict:
    """Book money that arrived at the bank for an account."""
    amount = money.check_amount(body.get("amount"))
    with db.transaction(conn):
        row = usable(conn, account_id)
        bank = find(conn, system_account("bank", row["currency"]))
        deposit_id = ids.new_id("dep")
        journal.post(conn, "deposit", deposit_id, [(bank["id"], -amount), (row["id"], amount)])
        audit.append(
            conn, actor, "deposit.create", deposit_id, {"account": row["id"], "amount": amount}
        )
    return {"id": deposit_id, "amount": amount, "account": public(conn, find(conn, account_id))}


def page(conn: sqlite3.Connection, page: Page, customer_id: str | None) -> list[sqlite3.Row]:
    """One row more than the page holds, when there is one."""
    return conn.execute(
        "SELECT * FROM accounts WHERE seq > ? AND (? IS NULL OR customer_id = ?)"
        " ORDER BY seq LIMIT ?",
        (page.after, customer_id, customer_id, page.limit + 1),
    ).fetchall()


def public(conn: sqlite3.Connection, row: sqlite3.Row) -> dict:
    """An account as the API shows it."""
    reserved = held(conn, row["id"])
    return {
        "id": row["id"],
        "customer_id": row["customer_id"],
        "name": row["name"],
        "kind": row["kind"],
        "currency": row["currency"],
        "status": row["status"],
        "balance": row["balance"],
        "held": reserved,
        "available": row["balance"] - reserved,
        "created_at": row["created_at"],
    }
