"""Members of staff, and what they may do in the back office."""

from __future__ import annotations

import secrets
from typing import Any

from . import audit, db, passwords

ROLES = ("support", "manager")


def check_password(conn: Any, login: str, password: str) -> int | None:
    """The id of the member of staff, or None if login or password are wrong or it is disabled."""
    found = db.one(
        conn,
        "SELECT id, password_hash FROM staff WHERE login = %s AND disabled_at IS NULL",
        (login.strip(),),
    )
    if found is None or not passwords.matches(password, found["password_hash"]):
        return None
    return found["id"]


def get(conn: Any, staff_id: int) -> db.Row | None:
    """A member of staff who is not disabled."""
    return db.one(
        conn,
        "SELECT id, login, name, role FROM staff WHERE id = %s AND disabled_at IS NULL",
        (staff_id,),
    )


def everyone(conn: Any) -> list[db.Row]:
    """All members of staff, disabled ones too."""
    return db.rows(conn, "SELECT id, login, name, role, disabled_at FROM staff ORDER BY login")


def add(conn: Any, actor: str, login: str, name: str, role: str) -> str:
    """A new member of staff; returns the password. Raises ValueError."""
    if not login.isidentifier() or not name or role not in ROLES:
        raise ValueError("a login, a name and a role are needed")
    password = secrets.token_urlsafe(12)
    with db.transaction(conn):
        made = db.run(
            conn,
            "INSERT INTO staff (login, name, password_hash, role) VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (login) DO NOTHING",
            (login, name, passwords.hashed(password), role),
        )
        if not made:
            raise ValueError("this login is taken")
        audit.record(conn, actor, "staff.add", login, {"role": role})
    return password


def disable(conn: Any, actor: str, login: str) -> None:
    """Lock somebody out. Raises ValueError if there is nobody of that login."""
    with db.transaction(conn):
        found = db.one(
            conn,
            "UPDATE staff SET disabled_at = now() WHERE login = %s AND disabled_at IS NULL"
            " RETURNING id",
            (login,),
        )
        if found is None:
            raise ValueError("there is nobody of that login")
        db.run(conn, "DELETE FROM sessions WHERE staff_id = %s", (found["id"],))
        audit.record(conn, actor, "staff.disable", login)
