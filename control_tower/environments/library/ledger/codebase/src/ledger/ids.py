"""Identifiers and times, in the shapes used everywhere."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta, timezone

from .errors import InvalidRequest

_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"


def new_id(prefix: str) -> str:
    """A fresh id such as `tr_9f86d081884c`."""
    return f"{prefix}_{secrets.token_hex(6)}"


def stamp(moment: datetime) -> str:
    """A moment as text, UTC, with microseconds, so that times sort as strings."""
    return moment.astimezone(timezone.utc).strftime(_FORMAT)


def now() -> str:
    """The current moment as text."""
    return stamp(datetime.now(timezone.utc))


def after(seconds: int) -> str:
    """The moment `seconds` from now as text."""
    return stamp(datetime.now(timezone.utc) + timedelta(seconds=seconds))


def parse_moment(text: str, field: str) -> str:
    """A caller's date (`2024-03-01`) or moment, in our own format.

    A date stands for its first moment. Raises InvalidRequest for anything else.
    """
    for pattern in (_FORMAT, "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d"):
        try:
            return stamp(datetime.strptime(text, pattern).replace(tzinfo=timezone.utc))
        except ValueError:
            continue
    raise InvalidRequest(f"{field} must look like 2024-03-01 or 2024-03-01T09:30:00Z", field=field)
