"""API tokens and what they may do."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from dataclasses import dataclass

from . import audit, db, ids
from .errors import Forbidden, InvalidRequest, NotFound, Unauthenticated

SCOPES = frozenset(
    {
        "accounts:read",
        "accounts:write",
        "customers:read",
        "customers:write",
        "customers:pii",
        "transfers:read",
        "transfers:write",
        "holds:read",
        "holds:write",
        "statements:read",
        "audit:read",
        "admin",
    }
)
"""`admin` includes all others and is the only one that may issue or revoke tokens."""


@dataclass(frozen=True)
class Token:
    """A token that was presented and is good."""

    id: str
    name: str
    scopes: frozenset

    def require(self, scope: str) -> None:
        """Raise Forbidden unless the token has `scope`."""
        if scope not in self.scopes and "admin" not in self.scopes:
            raise Forbidden(f"this token lacks the scope {scope}")


def digest(secret: str) -> str:
    """What is stored in place of a token."""
    return hashlib.sha256(secret.encode()).hexdigest()


def authenticate(conn: sqlite3.Connection, header: str | None) -> Token:
    """The token of an `Authorization: Bearer …` header, or Unauthenticated."""
    scheme, _, secret = (header or "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise Unauthenticated("send a token: Authorization: Bearer …")
    row = conn.execute(
        "SELECT * FROM api_tokens WHERE hash = ? AND revoked_at IS NULL",
        (digest(secret.strip()),),
    ).fetchone()
    if row is None:
        raise Unauthenticated("unknown or revoked token")
    return Token(row["id"], row["name"], frozenset(row["scopes"].split()))


def issue(conn: sqlite3.Connection, actor: str, name: object, scopes: object) -> tuple[dict, str]:
    """Create a token; returns its public record and the secret, which is shown this once."""
    if not isinstance(name, str) or not 0 < len(name) <= 60:
        raise InvalidRequest("name must be a text of 1 to 60 characters", field="name")
    if not isinstance(scopes, list) or not scopes:
        raise InvalidRequest("scopes must be a list of at least one scope", field="scopes")
    unknown = sorted(str(scope) for scope in scopes if scope not in SCOPES)
    if unknown:
        raise InvalidRequest(f"unknown scope {', '.join(unknown)}", field="scopes")
    token_id, secret = ids.new_id("tok"), f"ldg_{secrets.token_hex(20)}"
    with db.transaction(conn):
        conn.execute(
            "INSERT INTO api_tokens (id, name, hash, scopes, created_at) VALUES (?, ?, ?, ?, ?)",
            (token_id, name, digest(secret), " ".join(sorted(set(scopes))), ids.now()),
        )
        audit.append(conn, actor, "token.issue", token_id, {"name": name, "scopes": sorted(scopes)})
    return get(conn, token_id), secret


def revoke(conn: sqlite3.Connection, actor: str, token_id: str) -> dict:
    """Revoke a token for good; doing it twice changes nothing."""
    with db.transaction(conn):
        if get(conn, token_id)["revoked_at"] is None:
            conn.execute("UPDATE api_tokens SET revoked_at = ? WHERE id = ?", (ids.now(), token_id))
            audit.append(conn, actor, "token.revoke", token_id, {})
    return get(conn, token_id)


def get(conn: sqlite3.Connection, token_id: str) -> dict:
    """The public record of a token: never its hash."""
    row = conn.execute("SELECT * FROM api_tokens WHERE id = ?", (token_id,)).fetchone()
    if row is None:
        raise NotFound(f"no token {token_id}")
    return _public(row)


def every(conn: sqlite3.Connection) -> list[dict]:
    """All tokens, oldest first, revoked ones included."""
    return [_public(row) for row in conn.execute("SELECT * FROM api_tokens ORDER BY seq")]


def _public(row: sqlite3.Row) -> dict:
    return {
        "id": row["id"],
        "name": row["name"],
        "scopes": row["scopes"].split(),
        "created_at": row["created_at"],
        "revoked_at": row["revoked_at"],
    }
