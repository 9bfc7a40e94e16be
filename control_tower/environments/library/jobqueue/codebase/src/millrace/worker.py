"""A worker process: takes a job, runs it, records what became of it, and again."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time

import redis

from . import ids, jobs, kinds, store, tenants
from .config import Settings
from .errors import JobError, MillraceError
from .logs import Log
from .queue import Queue

BEAT_SECONDS = 1.0


class Worker:
    """One worker. It runs one job at a time."""

    def __init__(self, settings: Settings, name: str) -> None:
        self.settings = settings
        self.name = name
        self.db = store.connect(settings)
        self.queue = Queue(settings, self.db)
        self.log = Log(settings.log, "jobs.log", name)
        self.since = ids.now()
        self.job: jobs.Job | None = None

    def run(self) -> None:
        """Work until told to stop."""
        signal.signal(signal.SIGTERM, self._stop)
        threading.Thread(target=self._beat_for_ever, daemon=True).start()
        self.log.write("up", pid=os.getpid())
        while True:
            try:
                self.job = self.queue.claim(self.name)
                if self.job is None:
                    time.sleep(self.settings.poll_seconds)
                else:
                    self._work(self.job)
                    self.job = None
            except redis.ConnectionError as error:
                self.log.write("no_redis", error=error)
                time.sleep(1)

    def _work(self, job: jobs.Job) -> None:
        began = ids.now()
        self.log.write("run", job=job.id, tenant=job.tenant, kind=job.kind, claim=job.claim)
        try:
            tenant = tenants.get(self.db, job.tenant)
            result = kinds.run(kinds.Context(self.settings, self.db, tenant, job))
        except JobError as error:
            state = self.queue.fail(job, str(error), permanent=error.permanent)
        except MillraceError as error:
            state = self.queue.fail(job, str(error), permanent=True)
        except redis.ConnectionError:
            raise
        except Exception as error:  # a fault in a kind must not end the worker
            state = self.queue.fail(job, f"{type(error).__name__}: {error}")
        else:
            self.queue.finish(job, result)
            state = "done"
        took = ids.now() - began
        self.log.write("end", job=job.id, tenant=job.tenant, kind=job.kind, state=state, ms=took)

    def _stop(self, *_: object) -> None:
        """Give up the job at hand, so that nobody has to wait for its lease to run out."""
        if self.job is not None:
            self.queue.release(self.job)
            self.log.write("released", job=self.job.id)
        self.db.hdel(store.WORKERS, self.name)
        self.log.write("down", pid=os.getpid())
        sys.stdout.flush()
        os._exit(0)

    def _beat_for_ever(self) -> None:
        """Tell the operations desk that we live, and what we do."""
        while True:
            job = self.job
            about = {"pid": os.getpid(), "since": self.since, "beat": ids.now()}
            try:
                shown = json.dumps({**about, "job": job.id if job else None})
                self.db.hset(store.WORKERS, self.name, shown)
            except redis.RedisError as error:
                self.log.write("no_beat", error=error)
            time.sleep(BEAT_SECONDS)


def everyone(db: redis.Redis) -> list[dict]:
    """The workers that have lately shown life."""
    rows = {name: json.loads(text) for name, text in db.hgetall(store.WORKERS).items()}
    recent = ids.now() - 5 * BEAT_SECONDS * 1000
    return [{"name": n, **row} for n, row in sorted(rows.items()) if row["beat"] > recent]
