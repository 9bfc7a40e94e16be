"""Account statements: an opening balance, the postings, a closing balance."""

from __future__ import annotations

import sqlite3

from . import accounts, ids
from .errors import InvalidRequest
from .pagination import Page, render


def statement(conn: sqlite3.Connection, account_id: str, query: dict, page: Page) -> dict:
    """The statement of an account for `from` (inclusive) to `to` (exclusive), one page of lines.

    Opening and closing balance are those of the whole period, whatever page is asked for; the
    running balance of each line is the account's balance right after it.
    """
    account = accounts.find(conn, account_id)
    start = ids.parse_moment(query["from"], "from") if query.get("from") else ""
    end = ids.parse_moment(query["to"], "to") if query.get("to") else "9999"
    if start >= end:
        raise InvalidRequest("from must lie before to", field="from")
    opening = _sum_before(conn, account_id, start)
    rows = conn.execute(
        "SELECT p.seq, p.amount, e.id AS entry, e.kind, e.source_id, e.memo, e.created_at,"
        " (SELECT SUM(q.amount) FROM postings q"
        " WHERE q.account_id = p.account_id AND q.seq <= p.seq) AS balance"
        " FROM postings p JOIN journal_entries e ON e.id = p.entry_id"
        " WHERE p.account_id = ? AND e.created_at >= ? AND e.created_at < ? AND p.seq > ?"
        " ORDER BY p.seq LIMIT ?",
        (account_id, start, end, page.after, page.limit + 1),
    ).fetchall()
    return {
        "account": account_id,
        "currency": account["currency"],
        "opening_balance": opening,
        "closing_balance": _sum_before(conn, account_id, end),
        **render(rows, page, _line),
    }


def _sum_before(conn: sqlite3.Connection, account_id: str, moment: str) -> int:
    return conn.execute(
        "SELECT COALESCE(SUM(p.amount), 0) FROM postings p"
        " JOIN journal_entries e ON e.id = p.entry_id"
        " WHERE p.account_id = ? AND e.created_at < ?",
        (account_id, moment),
    ).fetchone()[0]


def _line(row: sqlite3.Row) -> dict:
    return {key: value for key, value in dict(row).items() if key != "seq"}
