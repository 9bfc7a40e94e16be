set -euo pipefail
# A table for the keys, and the module that knows what a key means.
cat > ledger/migrations/0007_idempotency.sql <<'SQL'
-- Idempotency keys of transfers: what was asked with a key, and what was answered.

CREATE TABLE idempotency_keys (
    token_id     TEXT NOT NULL,
    key          TEXT NOT NULL,
    fingerprint  TEXT NOT NULL,
    response     TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    PRIMARY KEY (token_id, key)
);

CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
SQL

cat > ledger/idempotency.py <<'PY'
"""Idempotency keys: a retry of a request that succeeded repeats its answer and does nothing else.

A key is looked up and remembered in the transaction of the change itself. Writers take the write
lock when they begin, so that of several requests with one key the first makes the change, and the
others find its answer.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3

from . import db, ids
from .errors import InvalidRequest, Unprocessable

HEADER = "Idempotency-Key"
REPLAY_HEADER = "Idempotent-Replay"
_KEY = re.compile(r"[A-Za-z0-9._:-]{1,64}\Z")


def check_key(value: str | None) -> str | None:
    """The key of a request, None when it has none. Raises InvalidRequest for a malformed one."""
    if value is None or _KEY.match(value):
        return value
    raise InvalidRequest(
        f"{HEADER} must be 1 to 64 letters, digits and . _ : -", code="invalid_idempotency_key"
    )


def fingerprint(body: dict) -> str:
    """The same for bodies that are the same JSON value."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def recall(conn: sqlite3.Connection, token_id: str, key: str, body: dict) -> dict | None:
    """The answer that was given to a key, None if it is new.

    Raises Unprocessable when the key came with another body.
    """
    row = conn.execute(
        "SELECT fingerprint, response FROM idempotency_keys WHERE token_id = ? AND key = ?",
        (token_id, key),
    ).fetchone()
    if row is None:
        return None
    if row["fingerprint"] != fingerprint(body):
        raise Unprocessable("this key was used with another body", code="idempotency_key_reused")
    return json.loads(row["response"])


def remember(conn: sqlite3.Connection, token_id: str, key: str, body: dict, answer: dict) -> None:
    """Keep the answer to a request that made its change. Call it in the change's transaction."""
    if not conn.in_transaction:
        raise RuntimeError("a key must be remembered with the change it stands for")
    conn.execute(
        "INSERT INTO idempotency_keys VALUES (?, ?, ?, ?, ?)",
        (token_id, key, fingerprint(body), json.dumps(answer), ids.now()),
    )


def purge(conn: sqlite3.Connection, hours: int) -> int:
    """Forget the keys that are at least `hours` old; returns how many."""
    with db.transaction(conn):
        done = conn.execute(
            "DELETE FROM idempotency_keys WHERE created_at <= ?", (ids.after(-3600 * hours),)
        )
    return done.rowcount
PY
