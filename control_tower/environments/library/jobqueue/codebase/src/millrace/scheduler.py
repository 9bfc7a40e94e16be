"""The scheduler process: delayed jobs, recurring jobs, and leases that ran out."""

from __future__ import annotations

import signal
import sys
import time

import redis

from . import ids, recurring, store
from .config import Settings
from .logs import Log
from .queue import Queue


class Scheduler:
    """Looks at what is due, a few times a second. Several may run at once."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.db = store.connect(settings)
        self.queue = Queue(settings, self.db)
        self.log = Log(settings.log, "scheduler.log", "scheduler")

    def run(self) -> None:
        """Go on until told to stop."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        self.log.write("up")
        while True:
            try:
                self.tick()
            except redis.ConnectionError as error:
                self.log.write("no_redis", error=error)
                time.sleep(1)
            time.sleep(self.settings.tick_seconds)

    def tick(self) -> None:
        """One look."""
        for job_id in self.queue.reap():
            self.log.write("reaped", job=job_id)
        if promoted := self.queue.promote():
            self.log.write("promoted", jobs=promoted)
        for job_id in recurring.fire(self.queue, ids.now()):
            self.log.write("fired", job=job_id)
