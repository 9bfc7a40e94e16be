"""Customers and their personal data."""

from __future__ import annotations

import re
import sqlite3

from . import audit, db, ids, pii
from .errors import InvalidRequest, NotFound
from .pagination import Page

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+\Z")
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{10,30}\Z")


def create(conn: sqlite3.Connection, key: bytes, actor: str, body: dict) -> dict:
    """Register a customer; tax id and bank account are stored sealed under `key`."""
    name = _text(body, "name", 120)
    email = _text(body, "email", 200)
    tax_id = _text(body, "tax_id", 40)
    iban = _text(body, "iban", 40).replace(" ", "")
    if not _EMAIL.match(email):
        raise InvalidRequest("email does not look like an address", field="email")
    if not _IBAN.match(iban):
        raise InvalidRequest("iban does not look like an account number", field="iban")
    customer_id = ids.new_id("cus")
    with db.transaction(conn):
        conn.execute(
            "INSERT INTO customers (id, name, email, tax_id_sealed, iban_sealed, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (
                customer_id,
                name,
                email,
                pii.seal(key, tax_id),
                pii.seal(key, iban),
                ids.now(),
            ),
        )
        audit.append(conn, actor, "customer.create", customer_id, {})
    return public(find(conn, customer_id), key)


def find(conn: sqlite3.Connection, customer_id: str) -> sqlite3.Row:
    """The customer's row, or NotFound."""
    row = conn.execute("SELECT * FROM customers WHERE id = ?", (customer_id,)).fetchone()
    if row is None:
        raise NotFound(f"no customer {customer_id}")
    return row


def page(conn: sqlite3.Connection, page: Page) -> list[sqlite3.Row]:
    """One row more than the page holds, when there is one."""
    return conn.execute(
        "SELECT * FROM customers WHERE seq > ? ORDER BY seq LIMIT ?", (page.after, page.limit + 1)
    ).fetchall()


def public(row: sqlite3.Row, key: bytes, *, reveal: bool = False) -> dict:
    """A customer as the API shows them: personal data masked unless `reveal`."""
    show = (lambda text: text) if reveal else pii.masked
    return {
        "id": row["id"],
        "name": row["name"],
        "email": row["email"],
        "tax_id": show(pii.unseal(key, row["tax_id_sealed"])),
        "iban": show(pii.unseal(key, row["iban_sealed"])),
        "created_at": row["created_at"],
    }


def revealed(conn: sqlite3.Connection, key: bytes, actor: str, customer_id: str) -> dict:
    """A customer with their personal data in clear; that somebody looked is put on record."""
    row = find(conn, customer_id)
    with db.transaction(conn):
        audit.append(conn, actor, "customer.reveal", customer_id, {})
    return public(row, key, reveal=True)


def _text(body: dict, field: str, longest: int) -> str:
    value = body.get(field)
    if not isinstance(value, str) or not 2 < len(value.strip()) <= longest:
        raise InvalidRequest(f"{field} must be a text of 3 to {longest} characters", field=field)
    return value.strip()
