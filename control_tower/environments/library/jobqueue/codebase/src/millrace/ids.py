"""Ids and times. Times are integers: milliseconds since 1970, UTC."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime


def new(prefix: str) -> str:
    """A fresh id, such as `j_5f0c…`."""
    return f"{prefix}_{secrets.token_hex(8)}"


def now() -> int:
    """The time now."""
    return time.time_ns() // 1_000_000


def stamp(ms: int) -> str:
    """A time for people and logs."""
    at = datetime.fromtimestamp(ms / 1000, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"
