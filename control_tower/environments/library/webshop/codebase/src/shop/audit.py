"""The audit trail of the back office: a chain of records, each with the hash of the one before."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timezone
from typing import Any

from . import db

_LOCK = 74_001
START = "0" * 64


def record(conn: Any, actor: str, action: str, subject: str, details: dict | None = None) -> None:
    """Add a record, in the caller's transaction: what is rolled back leaves none."""
    db.run(conn, "SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    last = db.one(conn, "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")
    entry = {
        "seq": last["seq"] + 1 if last else 1,
        "at": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "actor": actor,
        "action": action,
        "subject": subject,
        "details": json.dumps(details or {}, sort_keys=True),
    }
    before = last["hash"] if last else START
    db.run(
        conn,
        "INSERT INTO audit (seq, at, actor, action, subject, details, hash)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s)",
        (*entry.values(), link(before, entry)),
    )


def link(before: str, entry: dict) -> str:
    """The hash of a record that follows the record with the hash `before`."""
    names = ("seq", "at", "actor", "action", "subject", "details")
    text = "\n".join([before, *(str(entry[name]) for name in names)])
    return hashlib.sha256(text.encode()).hexdigest()


def trail(conn: Any, subject: str | None = None) -> list[db.Row]:
    """The records, newest first, of one subject if it is given."""
    return db.rows(
        conn,
        "SELECT * FROM audit WHERE %s::text IS NULL OR subject = %s ORDER BY seq DESC LIMIT 500",
        (subject, subject),
    )


def verify(conn: Any) -> tuple[int, list[str]]:
    """How many records there are, and what is wrong with the chain."""
    faults, before, count = [], START, 0
    for entry in db.rows(conn, "SELECT * FROM audit ORDER BY seq"):
        count += 1
        if entry["seq"] != count:
            faults.append(f"record {count} is missing")
            break
        if entry["hash"] != link(before, entry):
            faults.append(f"record {count} was changed")
        before = entry["hash"]
    return count, faults
