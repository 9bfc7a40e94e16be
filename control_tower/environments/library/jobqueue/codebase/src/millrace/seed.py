"""What a new Redis starts with: the tenants of data/seed, and the archive of older jobs."""

from __future__ import annotations

import json
from pathlib import Path

import redis

from . import ids, store, tenants

FOLDER = Path("data/seed")


def ensure(db: redis.Redis) -> bool:
    """Seed the database unless that was done before; returns whether it was done now."""
    if not db.set(store.SEEDED, ids.now(), nx=True):
        return False
    for row in json.loads((FOLDER / "tenants.json").read_text(encoding="utf-8")):
        token = row.pop("token_sha256")
        tenants.put(db, row, token)
    archive = FOLDER / "archive.jsonl"
    if archive.exists():
        claims = 0
        with db.pipeline() as batch:
            for line in archive.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                batch.hset(store.job(row["id"]), mapping=row)
                batch.zadd(store.jobs(row["tenant"]), {row["id"]: row["submitted_at"]})
                claims = max(claims, row.get("claim", 0))
            batch.set(store.CLAIMS, claims)
            batch.execute()
    return True
