"""Hashes of passwords."""

from __future__ import annotations

import hashlib
import hmac
import secrets

_ROUNDS = 4_000


def hashed(password: str, salt: str | None = None) -> str:
    """What is stored of a password."""
    salt = salt or secrets.token_hex(8)
    key = hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), _ROUNDS)
    return f"{salt}${key.hex()}"


def matches(password: str, stored: str) -> bool:
    """Whether it is the password that was stored."""
    salt = stored.partition("$")[0]
    return hmac.compare_digest(hashed(password, salt), stored)
