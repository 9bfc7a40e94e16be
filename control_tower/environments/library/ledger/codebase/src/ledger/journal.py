"""Double entry: every movement of money is one entry whose postings sum to zero."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from . import ids


class Unbalanced(RuntimeError):
    """An entry whose postings do not sum to zero: a bug in the caller, never a user's mistake."""


def post(
    conn: sqlite3.Connection,
    kind: str,
    source_id: str,
    postings: Iterable[tuple[str, int]],
    *,
    memo: str = "",
    at: str | None = None,
    entry_id: str | None = None,
    residue_account: str | None = None,
) -> str:
    """Write an entry and move the balances; returns the entry's id.

    A posting is an account id and a signed amount; a positive one adds to the account's balance.
    `residue_account` takes up what is missing for the entry to balance. Zero postings are left out.
    Raises Unbalanced when the postings do not sum to zero and no account takes the rest.
    """
    legs = [(account, amount) for account, amount in postings if amount != 0]
    residue = -sum(amount for _, amount in legs)
    if residue and residue_account is not None:
        legs.append((residue_account, residue))
        residue = 0
    if residue:
        raise Unbalanced(f"{kind} {source_id} is off by {-residue}")
    entry_id = entry_id or ids.new_id("je")
    conn.execute(
        "INSERT INTO journal_entries (id, kind, source_id, memo, created_at)"
        " VALUES (?, ?, ?, ?, ?)",
        (entry_id, kind, source_id, memo, at or ids.now()),
    )
    for account, amount in legs:
        conn.execute(
            "INSERT INTO postings (entry_id, account_id, amount) VALUES (?, ?, ?)",
            (entry_id, account, amount),
        )
        conn.execute("UPDATE accounts SET balance = balance + ? WHERE id = ?", (amount, account))
    return entry_id


def faults(conn: sqlite3.Connection) -> list[str]:
    """What is wrong with the books: entries that do not balance, balances that do not add up."""
    found = [
        f"entry {row['entry_id']} is off by {row['off']}"
        for row in conn.execute(
            "SELECT entry_id, SUM(amount) AS off FROM postings GROUP BY entry_id HAVING off <> 0"
        )
    ]
    found += [
        f"account {row['id']} shows {row['balance']}, its postings sum to {row['posted']}"
        for row in conn.execute(
            "SELECT a.id, a.balance, COALESCE(SUM(p.amount), 0) AS posted FROM accounts a"
            " LEFT JOIN postings p ON p.account_id = a.id GROUP BY a.id HAVING a.balance <> posted"
        )
    ]
    return found
