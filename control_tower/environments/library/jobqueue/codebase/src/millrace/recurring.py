"""Recurring jobs: a tenant's template that becomes a job every so often."""

from __future__ import annotations

import json

from . import ids, store
from .errors import Invalid, NotFound
from .kinds import check_payload
from .queue import Queue

SHORTEST_MS = 1_000


def create(queue: Queue, tenant: str, body: dict) -> dict:
    """Take in a template; its first job comes one period from now."""
    if set(body) != {"kind", "payload", "every_ms"}:
        raise Invalid("kind, payload and every_ms, nothing else", code="invalid_recurring")
    every = body["every_ms"]
    if not isinstance(every, int) or isinstance(every, bool) or every < SHORTEST_MS:
        raise Invalid(f"every_ms: {SHORTEST_MS} or more", code="invalid_recurring")
    check_payload(body["kind"], body["payload"])
    one = {"id": ids.new("r"), "tenant": tenant, **body}
    with queue.db.pipeline() as batch:
        batch.hset(store.RECURRING, one["id"], json.dumps(one))
        batch.zadd(store.RECURRING_DUE, {one["id"]: ids.now() + every})
        batch.execute()
    return _view(one)


def listed(queue: Queue, tenant: str) -> list[dict]:
    """A tenant's templates."""
    rows = [json.loads(text) for text in queue.db.hvals(store.RECURRING)]
    mine = [one for one in rows if one["tenant"] == tenant]
    return [_view(one) for one in sorted(mine, key=lambda one: one["id"])]


def remove(queue: Queue, tenant: str, template_id: str) -> dict:
    """Forget a template."""
    text = queue.db.hget(store.RECURRING, template_id)
    if text is None or json.loads(text)["tenant"] != tenant:
        raise NotFound(f"there is no template {template_id!r}", code="unknown_recurring")
    with queue.db.pipeline() as batch:
        batch.hdel(store.RECURRING, template_id)
        batch.zrem(store.RECURRING_DUE, template_id)
        batch.execute()
    return _view(json.loads(text))


def fire(queue: Queue, now: int) -> list[str]:
    """Submit a job for each template that is due; returns their ids."""
    made = []
    for template_id, due in queue.db.zrangebyscore(
        store.RECURRING_DUE, "-inf", now, withscores=True
    ):
        text = queue.db.hget(store.RECURRING, template_id)
        if text is None or not queue.db.zrem(store.RECURRING_DUE, template_id):
            continue  # removed meanwhile, or another scheduler was faster
        one = json.loads(text)
        missed = max(0, now - int(due)) // one["every_ms"]
        following = int(due) + (missed + 1) * one["every_ms"]
        queue.db.zadd(store.RECURRING_DUE, {template_id: following})
        made.append(queue.submit(one["tenant"], {n: one[n] for n in ("kind", "payload")}).id)
    return made


def _view(one: dict) -> dict:
    return {name: one[name] for name in ("id", "kind", "payload", "every_ms")}
