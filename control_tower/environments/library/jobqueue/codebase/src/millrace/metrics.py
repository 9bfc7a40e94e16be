"""Counters by tenant, and the text that /metrics serves."""

from __future__ import annotations

import redis

from . import store, tenants

NAMES = ("submitted", "done", "failed", "cancelled", "retried", "hooks_delivered", "hooks_refused")


def count(db: redis.Redis, tenant: str, name: str, by: int = 1) -> None:
    """Add to a counter; `db` may be a pipeline."""
    db.hincrby(store.counters(tenant), name, by)


def of(db: redis.Redis, tenant: str) -> dict[str, int]:
    """A tenant's counters."""
    row = db.hgetall(store.counters(tenant))
    return {name: int(row.get(name, 0)) for name in NAMES}


def text(db: redis.Redis, overview: dict) -> str:
    """All of it, one value a line."""
    lines = [f"millrace_{name} {int(value)}" for name, value in overview.items()]
    for tenant in tenants.everyone(db):
        for name, value in of(db, tenant.id).items():
            lines.append(f'millrace_{name}_total{{tenant="{tenant.id}"}} {value}')
    return "\n".join(lines) + "\n"
