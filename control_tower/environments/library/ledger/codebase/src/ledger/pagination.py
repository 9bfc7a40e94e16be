"""Pages of rows: newest last, continued with an opaque cursor."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Callable

from .errors import InvalidRequest


@dataclass(frozen=True)
class Page:
    """What part of a list is asked for."""

    after: int
    """Sequence number of the last row already seen, 0 for the first page."""
    limit: int


def parse(query: dict, default: int, maximum: int) -> Page:
    """Read `limit` and `cursor` from a query. Raises InvalidRequest for unusable ones."""
    try:
        limit = int(query.get("limit", default))
    except ValueError:
        raise InvalidRequest("limit must be a number", field="limit") from None
    if not 1 <= limit <= maximum:
        raise InvalidRequest(f"limit must be between 1 and {maximum}", field="limit")
    return Page(_decode(query["cursor"]) if query.get("cursor") else 0, limit)


def render(rows: Sequence, page: Page, public: Callable) -> dict:
    """The page as it goes over the wire; `rows` holds one row more when there is another page."""
    shown = rows[: page.limit]
    more = len(rows) > page.limit
    return {
        "items": [public(row) for row in shown],
        "next_cursor": _encode(shown[-1]["seq"]) if more else None,
    }


def _encode(seq: int) -> str:
    return base64.urlsafe_b64encode(f"after:{seq}".encode()).decode()


def _decode(cursor: str) -> int:
    try:
        label, _, seq = base64.urlsafe_b64decode(cursor.encode()).decode().partition(":")
        if label == "after":
            return int(seq)
    except (ValueError, binascii.Error):
        pass
    raise InvalidRequest("this cursor was not made by this API", field="cursor")
