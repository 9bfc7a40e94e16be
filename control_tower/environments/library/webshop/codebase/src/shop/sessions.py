"""Sessions of visitors, customers and staff. The cookie holds a secret, the database its hash."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Any

from . import db

COOKIE = "shop_session"
STAFF_HOURS = 8


@dataclass
class Session:
    """Who is asking. `id` is the hash of the cookie."""

    id: str
    csrf: str
    customer_id: int | None = None
    staff_id: int | None = None
    new_cookie: str | None = None
    """The cookie that the answer has to set, for a session that has just begun."""


def open_session(conn: Any, cookie: str | None) -> Session:
    """The session of a cookie, or a new one."""
    if cookie:
        found = db.one(conn, "SELECT * FROM sessions WHERE id = %s", (_digest(cookie),))
        if found:
            db.run(conn, "UPDATE sessions SET seen_at = now() WHERE id = %s", (found["id"],))
            return Session(
                found["id"], found["csrf"], found["customer_id"], _staff_of(conn, found["id"])
            )
    return _begin(conn)


def log_in(
    conn: Any, session: Session, *, customer_id: int | None = None, staff_id: int | None = None
) -> Session:
    """A new session for somebody who has shown a password; the basket comes along."""
    fresh = _begin(conn, customer_id=customer_id, staff_id=staff_id)
    db.run(
        conn,
        "UPDATE basket_lines SET session_id = %s WHERE session_id = %s",
        (fresh.id, session.id),
    )
    db.run(conn, "DELETE FROM sessions WHERE id = %s", (session.id,))
    return fresh


def end(conn: Any, session: Session) -> None:
    """Log out."""
    db.run(conn, "DELETE FROM sessions WHERE id = %s", (session.id,))


def csrf_is_good(session: Session, given: str) -> bool:
    """Whether a form came from one of our pages."""
    return hmac.compare_digest(session.csrf.encode(), given.encode("utf-8", "replace"))


def purge(conn: Any, days: int = 30) -> int:
    """Forget sessions that were not seen for so many days, and their baskets."""
    return db.run(
        conn, "DELETE FROM sessions WHERE seen_at < now() - %s * interval '1 day'", (days,)
    )


def _begin(conn: Any, customer_id: int | None = None, staff_id: int | None = None) -> Session:
    cookie, csrf = secrets.token_urlsafe(24), secrets.token_urlsafe(16)
    db.run(
        conn,
        "INSERT INTO sessions (id, csrf, customer_id, staff_id) VALUES (%s, %s, %s, %s)",
        (_digest(cookie), csrf, customer_id, staff_id),
    )
    return Session(_digest(cookie), csrf, customer_id, staff_id, cookie)


def _staff_of(conn: Any, session_id: str) -> int | None:
    """The member of staff whose session it is, unless it is too old or they were disabled."""
    found = db.one(
        conn,
        "SELECT t.id FROM sessions s JOIN staff t ON t.id = s.staff_id WHERE s.id = %s"
        " AND t.disabled_at IS NULL AND s.created_at > now() - %s * interval '1 hour'",
        (session_id, STAFF_HOURS),
    )
    return found["id"] if found else None


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).hexdigest()
