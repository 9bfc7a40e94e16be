"""Holds reserve money on a payer's account; captures take it, a release lets it go."""

from __future__ import annotations

import sqlite3

from . import accounts, audit, db, fees, ids, journal, money
from .errors import Conflict, InvalidRequest, NotFound, Unprocessable

LONGEST_SECONDS = 30 * 24 * 3600
DEFAULT_SECONDS = 7 * 24 * 3600


def create(conn: sqlite3.Connection, actor: str, body: dict) -> dict:
    """Reserve an amount for a merchant."""
    amount = money.check_amount(body.get("amount"))
    seconds = body.get("expires_in", DEFAULT_SECONDS)
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int)
        or not 0 < seconds <= LONGEST_SECONDS
    ):
        raise InvalidRequest(
            f"expires_in must be 1 to {LONGEST_SECONDS} seconds", field="expires_in"
        )
    reference = body.get("reference")
    if reference is not None and not (isinstance(reference, str) and len(reference) <= 40):
        raise InvalidRequest("reference must be a text of at most 40 characters", field="reference")
    plan = body.get("fee_plan", "standard")
    fees.plan(conn, plan)
    with db.transaction(conn):
        payer = accounts.usable(conn, body.get("account"))
        merchant = accounts.usable(conn, body.get("merchant_account"), payer["currency"])
        if payer["id"] == merchant["id"]:
            raise Unprocessable("an account cannot hold money for itself", code="same_account")
        accounts.require_funds(conn, payer, amount)
        hold_id = ids.new_id("hold")
        conn.execute(
            "INSERT INTO holds (id, account_id, merchant_account, amount, currency, fee_plan,"
            " reference, status, expires_at, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, 'open', ?, ?)",
            (
                hold_id,
                payer["id"],
                merchant["id"],
                amount,
                payer["currency"],
                plan,
                reference,
                ids.after(seconds),
                ids.now(),
            ),
        )
        audit.append(
            conn, actor, "hold.create", hold_id, {"account": payer["id"], "amount": amount}
        )
    return public(conn, find(conn, hold_id))


def capture(conn: sqlite3.Connection, actor: str, hold_id: str, amount: int, least: int) -> dict:
    """Take `amount` of a hold and divide it by the hold's fee plan.

    `least` is the smallest capture allowed. The hold is finished once all of it is captured.
    """
    money.check_amount(amount)
    if amount < least:
        raise Unprocessable(f"a capture must be at least {least}", code="capture_too_small")
    with db.transaction(conn):
        hold = _open(conn, hold_id)
        remaining = hold["amount"] - hold["captured"]
        if amount > remaining:
            raise Conflict(f"{amount} is more than the {remaining} left", code="exceeds_hold")
        shares = fees.split(fees.plan(conn, hold["fee_plan"]), amount)
        legs = [
            (
                share.leg,
                fees.account_of(share.leg, hold["merchant_account"], hold["currency"]),
                share.amount,
            )
            for share in shares
        ]
        capture_id, at = ids.new_id("cap"), ids.now()
        entry_id = journal.post(
            conn,
            "capture",
            capture_id,
            [(hold["account_id"], -amount)] + [(account, share) for _, account, share in legs],
            at=at,
            residue_account=accounts.system_account("rounding", hold["currency"]),
        )
        conn.execute(
            "INSERT INTO captures (id, hold_id, amount, entry_id, created_at)"
            " VALUES (?, ?, ?, ?, ?)",
            (capture_id, hold_id, amount, entry_id, at),
        )
        conn.executemany(
            "INSERT INTO capture_legs (capture_id, leg, account_id, amount) VALUES (?, ?, ?, ?)",
            [(capture_id, leg, account, share) for leg, account, share in legs],
        )
        settled = hold["captured"] + sum(share for _, _, share in legs)
        conn.execute(
            "UPDATE holds SET captured = ?, status = ? WHERE id = ?",
            (settled, "captured" if settled >= hold["amount"] else "open", hold_id),
        )
        audit.append(
            conn, actor, "hold.capture", hold_id, {"capture": capture_id, "amount": amount}
        )
    return {
        "capture": {
            "id": capture_id,
            "amount": amount,
            "created_at": at,
            "legs": [
                {"leg": leg, "account": account, "amount": share} for leg, account, share in legs
            ],
        },
        "hold": public(conn, find(conn, hold_id)),
    }


def release(conn: sqlite3.Connection, actor: str, hold_id: str) -> dict:
    """Give back what was not captured."""
    with db.transaction(conn):
        hold = _open(conn, hold_id)
        conn.execute("UPDATE holds SET status = 'released' WHERE id = ?", (hold_id,))
        audit.append(
            conn, actor, "hold.release", hold_id, {"released": hold["amount"] - hold["captured"]}
        )
    return public(conn, find(conn, hold_id))


def expire(conn: sqlite3.Connection, actor: str) -> list[str]:
    """Close the open holds whose time has passed; returns their ids. Run from cron."""
    with db.transaction(conn):
        due = [
            row["id"]
            for row in conn.execute(
                "SELECT id FROM holds WHERE status = 'open' AND expires_at < ? ORDER BY seq",
                (ids.now(),),
            )
        ]
        for hold_id in due:
            conn.execute("UPDATE holds SET status = 'expired' WHERE id = ?", (hold_id,))
            audit.append(conn, actor, "hold.expire", hold_id, {})
    return due


def find(conn: sqlite3.Connection, hold_id: str) -> sqlite3.Row:
    """The hold's row, or NotFound."""
    row = conn.execute("SELECT * FROM holds WHERE id = ?", (hold_id,)).fetchone()
    if row is None:
        raise NotFound(f"no hold {hold_id}")
    return row


def leg_totals(conn: sqlite3.Connection, hold_id: str) -> dict[str, int]:
    """What each leg, the merchant's included, has got from a hold's captures so far."""
    rows = conn.execute(
        "SELECT l.leg, SUM(l.amount) AS total FROM capture_legs l"
        " JOIN captures c ON c.id = l.capture_id WHERE c.hold_id = ? GROUP BY l.leg",
        (hold_id,),
    )
    return {row["leg"]: row["total"] for row in rows}


def public(conn: sqlite3.Connection, row: sqlite3.Row) -> dict:
    """A hold as the API shows it."""
    totals = leg_totals(conn, row["id"])
    count = conn.execute(
        "SELECT COUNT(*) FROM captures WHERE hold_id = ?", (row["id"],)
    ).fetchone()[0]
    return {
        "id": row["id"],
        "account": row["account_id"],
        "merchant_account": row["merchant_account"],
        "amount": row["amount"],
        "captured": row["captured"],
        "remaining": row["amount"] - row["captured"] if row["status"] == "open" else 0,
        "currency": row["currency"],
        "fee_plan": row["fee_plan"],
        "reference": row["reference"],
        "status": row["status"],
        "captures": count,
        "merchant_total": totals.pop(fees.MERCHANT, 0),
        "fees": {rate.leg: totals.get(rate.leg, 0) for rate in fees.plan(conn, row["fee_plan"])},
        "expires_at": row["expires_at"],
        "created_at": row["created_at"],
    }


def _open(conn: sqlite3.Connection, hold_id: str) -> sqlite3.Row:
    hold = find(conn, hold_id)
    if hold["status"] != "open":
        raise Conflict(f"hold {hold_id} is {hold['status']}", code="hold_not_open")
    if hold["expires_at"] < ids.now():
        raise Conflict(f"hold {hold_id} has expired", code="hold_not_open")
    return hold
