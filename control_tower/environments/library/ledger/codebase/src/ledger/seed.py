"""The data a new deployment starts with: system accounts, tokens, customers and some history.

History is written as it was booked at the time, row for row, not replayed through the services.
Ids and times are fixed, so two fresh deployments are alike, audit chain included.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Callable

from . import accounts, audit, db, fees, journal, money

ACTOR = "seed"
EPOCH = "2024-01-02T08:00:00.000000Z"


def is_needed(conn: sqlite3.Connection) -> bool:
    """Whether the database has never been seeded."""
    return conn.execute("SELECT COUNT(*) FROM accounts").fetchone()[0] == 0


def apply(conn: sqlite3.Connection, folder: Path) -> int:
    """Fill a freshly migrated database from the files in `folder`; returns the events booked."""
    with db.transaction(conn):
        audit.append(conn, ACTOR, "system.seed", "ledger", {}, at=EPOCH)
        _system_accounts(conn)
        for token in _read(folder, "tokens"):
            conn.execute(
                "INSERT INTO api_tokens (id, name, hash, scopes, created_at)"
                " VALUES (?, ?, ?, ?, ?)",
                (token["id"], token["name"], token["sha256"], " ".join(token["scopes"]), EPOCH),
            )
        for customer in _read(folder, "customers"):
            _insert(conn, "customers", customer)
            audit.append(
                conn, ACTOR, "customer.create", customer["id"], {}, at=customer["created_at"]
            )
        for account in _read(folder, "accounts"):
            _insert(conn, "accounts", account)
            details = {"currency": account["currency"]}
            audit.append(
                conn, ACTOR, "account.create", account["id"], details, at=account["created_at"]
            )
        events = _read(folder, "history")
        for event in events:
            _EVENTS[event["type"]](conn, event)
    return len(events)


def _read(folder: Path, name: str) -> list[dict]:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def _insert(conn: sqlite3.Connection, table: str, row: dict) -> None:
    columns = ", ".join(row)
    marks = ", ".join("?" for _ in row)
    conn.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(row.values()))


def _system_accounts(conn: sqlite3.Connection) -> None:
    legs = conn.execute("SELECT DISTINCT leg FROM fee_legs ORDER BY leg").fetchall()
    roles = [*accounts.SYSTEM_ROLES, *(f"fee_{row['leg']}" for row in legs)]
    for currency in sorted(money.EXPONENTS):
        for role in roles:
            account = {
                "id": accounts.system_account(role, currency),
                "name": f"{role.replace('_', ' ')} ({currency})",
                "kind": "system",
                "currency": currency,
                "created_at": EPOCH,
            }
            _insert(conn, "accounts", account)


def _currency(conn: sqlite3.Connection, account_id: str) -> str:
    return accounts.find(conn, account_id)["currency"]


def _deposit(conn: sqlite3.Connection, event: dict) -> None:
    account, amount = event["account"], event["amount"]
    bank = accounts.system_account("bank", _currency(conn, account))
    journal.post(
        conn,
        "deposit",
        event["id"],
        [(bank, -amount), (account, amount)],
        at=event["at"],
        entry_id=f"je_{event['id']}",
    )
    details = {"account": account, "amount": amount}
    audit.append(conn, ACTOR, "deposit.create", event["id"], details, at=event["at"])


def _transfer(conn: sqlite3.Connection, event: dict) -> None:
    payer, payee, amount = event["from"], event["to"], event["amount"]
    currency, origin = _currency(conn, payer), event.get("reversal_of")
    actor = event.get("actor", ACTOR)
    kind = "reversal" if origin else "payment"
    row = {
        "id": event["id"],
        "from_account": payer,
        "to_account": payee,
        "amount": amount,
        "currency": currency,
        "reference": event.get("reference"),
        "memo": event.get("memo", ""),
        "kind": kind,
        "reversal_of": origin,
        "status": "posted",
        "created_by": actor,
        "created_at": event["at"],
    }
    _insert(conn, "transfers", row)
    if origin:
        conn.execute("UPDATE transfers SET status = 'reversed' WHERE id = ?", (origin,))
    journal.post(
        conn,
        kind,
        event["id"],
        [(payer, -amount), (payee, amount)],
        memo=row["memo"],
        at=event["at"],
        entry_id=f"je_{event['id']}",
    )
    details = {"from": payer, "to": payee, "amount": amount, "currency": currency}
    if origin:
        details["reversal_of"] = origin
    action = "transfer.reverse" if origin else "transfer.create"
    audit.append(conn, actor, action, event["id"], details, at=event["at"])


def _hold(conn: sqlite3.Connection, event: dict) -> None:
    row = {
        "id": event["id"],
        "account_id": event["account"],
        "merchant_account": event["merchant_account"],
        "amount": event["amount"],
        "captured": event["captured"],
        "currency": _currency(conn, event["account"]),
        "fee_plan": event["fee_plan"],
        "reference": event.get("reference"),
        "status": event["status"],
        "expires_at": event["expires_at"],
        "created_at": event["at"],
    }
    _insert(conn, "holds", row)
    details = {"account": event["account"], "amount": event["amount"]}
    audit.append(conn, ACTOR, "hold.create", event["id"], details, at=event["at"])


def _capture(conn: sqlite3.Connection, event: dict) -> None:
    hold = conn.execute("SELECT * FROM holds WHERE id = ?", (event["hold"],)).fetchone()
    legs = [
        (leg, fees.account_of(leg, hold["merchant_account"], hold["currency"]), amount)
        for leg, amount in event["legs"].items()
    ]
    entry_id = journal.post(
        conn,
        "capture",
        event["id"],
        [(hold["account_id"], -event["amount"])] + [(account, part) for _, account, part in legs],
        at=event["at"],
        entry_id=f"je_{event['id']}",
        residue_account=accounts.system_account("rounding", hold["currency"]),
    )
    row = {
        "id": event["id"],
        "hold_id": hold["id"],
        "amount": event["amount"],
        "entry_id": entry_id,
        "created_at": event["at"],
    }
    _insert(conn, "captures", row)
    for leg, account, part in legs:
        conn.execute(
            "INSERT INTO capture_legs VALUES (?, ?, ?, ?)", (event["id"], leg, account, part)
        )
    details = {"capture": event["id"], "amount": event["amount"]}
    audit.append(conn, ACTOR, "hold.capture", hold["id"], details, at=event["at"])


_EVENTS: dict[str, Callable[[sqlite3.Connection, dict], None]] = {
    "deposit": _deposit,
    "transfer": _transfer,
    "hold": _hold,
    "capture": _capture,
}
