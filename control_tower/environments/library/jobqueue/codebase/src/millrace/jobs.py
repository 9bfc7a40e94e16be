"""A job as it is stored, and as its tenant sees it."""

from __future__ import annotations

import json
from dataclasses import dataclass

import redis

from . import store
from .errors import NotFound

STATES = ("waiting", "delayed", "running", "done", "failed", "cancelled")
FINAL = ("done", "failed", "cancelled")


@dataclass(frozen=True)
class Job:
    """One job. `claim` numbers the runs of all jobs in the order in which they were taken."""

    id: str
    tenant: str
    kind: str
    payload: dict
    state: str
    attempts: int
    """How many runs were made of it."""
    max_attempts: int
    submitted_at: int
    run_at: int
    """Not before this time."""
    started_at: int | None
    finished_at: int | None
    claim: int | None
    worker: str | None
    result: dict | None
    error: str | None

    def view(self) -> dict:
        """What the tenant sees."""
        shown = {name: getattr(self, name) for name in self.__dataclass_fields__}
        del shown["tenant"], shown["worker"]
        return shown


def load(db: redis.Redis, job_id: str) -> Job:
    """A job by id."""
    row = db.hgetall(store.job(job_id))
    if not row:
        raise NotFound(f"there is no job {job_id!r}", code="unknown_job")
    return _job(row)


def of_tenant(db: redis.Redis, tenant: str, job_id: str) -> Job:
    """A job by id, if it is this tenant's."""
    found = load(db, job_id)
    if found.tenant != tenant:
        raise NotFound(f"there is no job {job_id!r}", code="unknown_job")
    return found


def listed(
    db: redis.Redis, tenant: str, state: str | None, after: int, limit: int
) -> tuple[list[Job], int | None]:
    """A page of a tenant's jobs, oldest first, and where the next one begins."""
    found: list[Job] = []
    while True:
        page = db.zrange(store.jobs(tenant), after, after + limit - 1)
        for offset, job_id in enumerate(page, 1):
            row = db.hgetall(store.job(job_id))
            if row and state in (None, row["state"]):
                found.append(_job(row))
            if len(found) == limit:
                return found, after + offset
        if len(page) < limit:
            return found, None
        after += len(page)


def _job(row: dict) -> Job:
    def number(name: str) -> int | None:
        return int(row[name]) if row.get(name) else None

    return Job(
        id=row["id"],
        tenant=row["tenant"],
        kind=row["kind"],
        payload=json.loads(row["payload"]),
        state=row["state"],
        attempts=int(row.get("attempts", 0)),
        max_attempts=int(row["max_attempts"]),
        submitted_at=int(row["submitted_at"]),
        run_at=int(row["run_at"]),
        started_at=number("started_at"),
        finished_at=number("finished_at"),
        claim=number("claim"),
        worker=row.get("worker") or None,
        result=json.loads(row["result"]) if row.get("result") else None,
        error=row.get("error") or None,
    )
