"""The append-only audit log.

Each record carries the hash of the one before it, so that removing or changing a record breaks the
chain from there on. A record is written in the same transaction as the change it describes: no
change without its record. Records name accounts and amounts, never a customer's personal data.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3

from . import ids

GENESIS = "0" * 64


def record_hash(
    prev_hash: str, seq: int, at: str, actor: str, action: str, subject: str, details: dict
) -> str:
    """SHA-256 over the previous hash, a newline, and the record as canonical JSON."""
    content = json.dumps(
        [seq, at, actor, action, subject, details], sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(f"{prev_hash}\n{content}".encode()).hexdigest()


def head(conn: sqlite3.Connection) -> tuple[int, str]:
    """Sequence number and hash of the newest record."""
    row = conn.execute("SELECT seq, hash FROM audit_log ORDER BY seq DESC LIMIT 1").fetchone()
    return (row["seq"], row["hash"]) if row else (0, GENESIS)


def append(
    conn: sqlite3.Connection,
    actor: str,
    action: str,
    subject: str,
    details: dict,
    at: str | None = None,
) -> int:
    """Write one record; returns its sequence number. Call it inside the change's transaction."""
    if not conn.in_transaction:
        raise RuntimeError("an audit record must be written with the change it describes")
    last_seq, prev_hash = head(conn)
    seq, at = last_seq + 1, at or ids.now()
    conn.execute(
        "INSERT INTO audit_log VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            seq,
            at,
            actor,
            action,
            subject,
            json.dumps(details, sort_keys=True),
            prev_hash,
            record_hash(prev_hash, seq, at, actor, action, subject, details),
        ),
    )
    return seq


def page(
    conn: sqlite3.Connection, after: int, limit: int, subject: str | None = None
) -> list[dict]:
    """Up to `limit` records with a sequence number above `after`, oldest first."""
    rows = conn.execute(
        "SELECT * FROM audit_log WHERE seq > ? AND (? IS NULL OR subject = ?) ORDER BY seq LIMIT ?",
        (after, subject, subject, limit),
    )
    return [_as_dict(row) for row in rows]


def verify(conn: sqlite3.Connection) -> tuple[int, str | None]:
    """Walk the whole chain; returns how many records were read and the first fault, if any."""
    expected_seq, prev_hash = 1, GENESIS
    for row in conn.execute("SELECT * FROM audit_log ORDER BY seq"):
        record = _as_dict(row)
        if record["seq"] != expected_seq:
            return expected_seq - 1, f"record {expected_seq} is missing"
        if record["prev_hash"] != prev_hash:
            return expected_seq - 1, f"record {expected_seq} does not follow the one before it"
        digest = record_hash(
            prev_hash,
            record["seq"],
            record["at"],
            record["actor"],
            record["action"],
            record["subject"],
            record["details"],
        )
        if digest != record["hash"]:
            return expected_seq - 1, f"record {expected_seq} was changed"
        prev_hash, expected_seq = digest, expected_seq + 1
    return expected_seq - 1, None


def _as_dict(row: sqlite3.Row) -> dict:
    record = dict(row)
    record["details"] = json.loads(record["details"])
    return record
