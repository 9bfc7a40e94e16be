"""The queue: every change of a job's state is made here."""

from __future__ import annotations

import json

import redis

from . import ids, jobs, metrics, store
from .config import Settings
from .errors import Conflict, Invalid
from .kinds import check_payload
from .retry import delay_ms

_CLAIM = """
if redis.call('EXISTS', KEYS[4]) == 1 then return false end
local id = redis.call('LPOP', KEYS[1])
if not id then return false end
local claim = redis.call('INCR', KEYS[3])
redis.call('HSET', 'mr:job:' .. id, 'state', 'running', 'worker', ARGV[3],
           'started_at', ARGV[1], 'claim', claim)
redis.call('ZADD', KEYS[2], ARGV[1] + ARGV[2], id)
return id
"""

_PROMOTE = """
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 100)
for _, id in ipairs(due) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('HSET', 'mr:job:' .. id, 'state', 'waiting')
  redis.call('RPUSH', KEYS[2], id)
end
return #due
"""

_CANCEL = """
local job = 'mr:job:' .. ARGV[1]
local state = redis.call('HGET', job, 'state')
if state == 'waiting' then redis.call('LREM', KEYS[1], 0, ARGV[1])
elseif state == 'delayed' then redis.call('ZREM', KEYS[2], ARGV[1])
else return 0 end
redis.call('HSET', job, 'state', 'cancelled', 'finished_at', ARGV[2])
return 1
"""

MOST_ATTEMPTS = 10
LONGEST_DELAY_MS = 90 * 24 * 3600 * 1000


class Queue:
    """Takes jobs in, hands them to workers, and records what became of them."""

    def __init__(self, settings: Settings, db: redis.Redis) -> None:
        self.settings = settings
        self.db = db
        self._claim = db.register_script(_CLAIM)
        self._promote = db.register_script(_PROMOTE)
        self._cancel = db.register_script(_CANCEL)

    # What tenants do.

    def submit(self, tenant: str, body: dict) -> jobs.Job:
        """Take in a job; it is ready now, or at `run_at` / after `delay_ms`."""
        unknown = set(body) - {"kind", "payload", "run_at", "delay_ms", "max_attempts"}
        if unknown:
            raise Invalid(f"unknown field {min(unknown)!r}", code="invalid_job")
        kind, payload = body.get("kind"), body.get("payload")
        check_payload(kind, payload)
        now = ids.now()
        run_at = _when(body, now)
        attempts = body.get("max_attempts", self.settings.max_attempts)
        if not _whole(attempts) or not 1 <= attempts <= MOST_ATTEMPTS:
            raise Invalid(f"max_attempts: 1 to {MOST_ATTEMPTS}", code="invalid_job")
        job_id = ids.new("j")
        row = {
            "id": job_id,
            "tenant": tenant,
            "kind": kind,
            "payload": json.dumps(payload),
            "state": "delayed" if run_at > now else "waiting",
            "attempts": 0,
            "max_attempts": attempts,
            "submitted_at": now,
            "run_at": run_at,
        }
        with self.db.pipeline() as batch:
            batch.hset(store.job(job_id), mapping=row)
            batch.zadd(store.jobs(tenant), {job_id: now})
            if run_at > now:
                batch.zadd(store.DELAYED, {job_id: run_at})
            else:
                batch.rpush(store.READY, job_id)
            metrics.count(batch, tenant, "submitted")
            batch.execute()
        return jobs.load(self.db, job_id)

    def cancel(self, tenant: str, job_id: str) -> jobs.Job:
        """Take a job back that no worker has taken yet."""
        jobs.of_tenant(self.db, tenant, job_id)
        if not self._cancel(keys=[store.READY, store.DELAYED], args=[job_id, ids.now()]):
            raise Conflict("the job was taken already", code="not_cancellable")
        metrics.count(self.db, tenant, "cancelled")
        return jobs.load(self.db, job_id)

    # What workers do.

    def claim(self, worker: str) -> jobs.Job | None:
        """Take the next job, with a lease on it; None if there is none, or the queue is paused."""
        job_id = self._claim(
            keys=[store.READY, store.RUNNING, store.CLAIMS, store.PAUSED],
            args=[ids.now(), self.settings.lease_ms, worker],
        )
        return jobs.load(self.db, job_id) if job_id else None

    def finish(self, job: jobs.Job, result: dict) -> None:
        """The job has done its work."""
        with self.db.pipeline() as batch:
            batch.hincrby(store.job(job.id), "attempts", 1)
            done = {"state": "done", "finished_at": ids.now(), "result": json.dumps(result)}
            batch.hset(store.job(job.id), mapping={**done, "error": ""})
            batch.zrem(store.RUNNING, job.id)
            metrics.count(batch, job.tenant, "done")
            batch.execute()

    def fail(self, job: jobs.Job, error: str, *, permanent: bool = False) -> str:
        """The job could not do its work; returns its new state."""
        made = self.db.hincrby(store.job(job.id), "attempts", 1)
        now = ids.now()
        with self.db.pipeline() as batch:
            batch.zrem(store.RUNNING, job.id)
            batch.hset(store.job(job.id), "error", error)
            if permanent or made >= job.max_attempts:
                state = "failed"
                batch.hset(store.job(job.id), mapping={"state": state, "finished_at": now})
                batch.lpush(store.DEAD, job.id)
                metrics.count(batch, job.tenant, "failed")
            else:
                state, run_at = "delayed", now + delay_ms(self.settings, made)
                batch.hset(store.job(job.id), mapping={"state": state, "run_at": run_at})
                batch.zadd(store.DELAYED, {job.id: run_at})
                metrics.count(batch, job.tenant, "retried")
            batch.execute()
        return state

    def release(self, job: jobs.Job) -> None:
        """Give a job up: without its lease, it is anybody's."""
        self.db.zrem(store.RUNNING, job.id)

    # What the scheduler does.

    def promote(self) -> int:
        """Make the delayed jobs ready whose time has come; returns how many."""
        return self._promote(keys=[store.DELAYED, store.READY], args=[ids.now()])

    def reap(self) -> list[str]:
        """Give the jobs whose lease has run out to other workers; returns their ids."""
        lost = self.db.zrangebyscore(store.RUNNING, "-inf", ids.now())
        for job_id in lost:
            with self.db.pipeline() as batch:
                batch.zrem(store.RUNNING, job_id)
                batch.hset(store.job(job_id), "state", "waiting")
                batch.rpush(store.READY, job_id)
                batch.execute()
        return lost

    # What the operations desk does.

    def pause(self) -> None:
        """No worker takes a job until `resume`."""
        self.db.set(store.PAUSED, ids.now())

    def resume(self) -> None:
        """Undo `pause`."""
        self.db.delete(store.PAUSED)

    def overview(self) -> dict:
        """How much there is of what."""
        return {
            "waiting": self.db.llen(store.READY),
            "delayed": self.db.zcard(store.DELAYED),
            "running": self.db.zcard(store.RUNNING),
            "dead": self.db.llen(store.DEAD),
            "paused": bool(self.db.exists(store.PAUSED)),
        }


def _when(body: dict, now: int) -> int:
    run_at, delay = body.get("run_at"), body.get("delay_ms")
    if run_at is not None and delay is not None:
        raise Invalid("run_at or delay_ms, not both", code="invalid_job")
    if run_at is None:
        run_at = now + (delay if _whole(delay) else 0)
    if not _whole(run_at) or (delay is not None and not _whole(delay)):
        raise Invalid("run_at and delay_ms are whole numbers", code="invalid_job")
    if not 0 <= run_at <= now + LONGEST_DELAY_MS or (delay or 0) < 0:
        raise Invalid("not before now and not after 90 days", code="invalid_job")
    return run_at


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
