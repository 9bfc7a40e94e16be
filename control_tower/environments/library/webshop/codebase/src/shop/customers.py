"""Customers' accounts."""

from __future__ import annotations

import re
from typing import Any

from . import db, passwords

_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+\Z")


class Refused(Exception):
    """What was entered is not acceptable; the text says why."""


def register(conn: Any, email: str, name: str, password: str) -> int:
    """A new account; returns its id. Raises Refused."""
    email, name = email.strip().lower(), name.strip()
    if not _EMAIL.match(email) or not name:
        raise Refused("please enter an e-mail address and your name")
    if len(password) < 8:
        raise Refused("a password has eight characters or more")
    made = db.one(
        conn,
        "INSERT INTO customers (email, name, password_hash) VALUES (%s, %s, %s)"
        " ON CONFLICT (email) DO NOTHING RETURNING id",
        (email, name, passwords.hashed(password)),
    )
    if made is None:
        raise Refused("there is an account with this e-mail address")
    return made["id"]


def check_password(conn: Any, email: str, password: str) -> int | None:
    """The id of the customer, or None if e-mail address or password are wrong."""
    found = db.one(
        conn,
        "SELECT id, password_hash FROM customers WHERE email = %s",
        (email.strip().lower(),),
    )
    if found is None or not passwords.matches(password, found["password_hash"]):
        return None
    return found["id"]


def get(conn: Any, customer_id: int) -> db.Row:
    """A customer's name, e-mail and address."""
    found = db.one(
        conn, "SELECT id, email, name, address FROM customers WHERE id = %s", (customer_id,)
    )
    if found is None:
        raise LookupError(f"no customer {customer_id}")
    return found


def change(conn: Any, customer_id: int, name: str, address: str) -> None:
    """A new name and address. Raises Refused."""
    name, address = name.strip(), address.replace("\r\n", "\n").strip()
    if not name:
        raise Refused("please enter your name")
    db.run(
        conn,
        "UPDATE customers SET name = %s, address = %s WHERE id = %s",
        (name, address, customer_id),
    )
