"""`meter`: adds to one of the tenant's meters, such as pages printed or messages sent."""

from __future__ import annotations

import re

from .. import store
from . import Context, require, whole

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


def check(payload: dict) -> None:
    """`meter` and `add`."""
    require(set(payload) == {"meter", "add"}, "meter and add, nothing else")
    name = payload["meter"]
    require(isinstance(name, str) and bool(_NAME.fullmatch(name)), "meter: a short name")
    require(whole(payload["add"], 1, 10**9), "add: 1 or more")


def run(context: Context) -> dict:
    """Add it."""
    payload = context.job.payload
    key = store.meters(context.tenant.id)
    return {"total": context.db.hincrby(key, payload["meter"], payload["add"])}
