"""What the tests share: an empty database of their own, and folders that go away."""

from __future__ import annotations

import dataclasses
import tempfile
import unittest
from pathlib import Path

from millrace import config, kinds, store, tenants
from millrace.queue import Queue

TEST_DB = 15
"""The deployment uses 0."""


class QueueCase(unittest.TestCase):
    """A queue without workers; the tests take the jobs themselves."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        place = Path(folder.name)
        self.settings = dataclasses.replace(
            config.load(),
            redis_db=TEST_DB,
            http_port=0,
            out=place / "out",
            run=place / "run",
            log=place / "log",
            lease_ms=600_000,
            retry_base_seconds=1.0,
        )
        self.db = store.connect(self.settings)
        self.addCleanup(self.db.close)
        self.addCleanup(self.db.flushdb)
        self.db.flushdb()
        self.queue = Queue(self.settings, self.db)
        self.tenant = tenants.create(self.db, {"id": "tester", "name": "Test & Co"})

    def submit(self, kind: str = "meter", payload: dict | None = None, **more: object) -> str:
        """The id of a new job of the tenant `tester`."""
        body = {"kind": kind, "payload": payload or {"meter": "pages", "add": 1}, **more}
        return self.queue.submit("tester", body).id

    def run_next(self) -> dict:
        """Take the next job, do its work and finish it; returns the result."""
        job = self.queue.claim("w1")
        assert job is not None
        found = tenants.get(self.db, job.tenant)
        result = kinds.run(kinds.Context(self.settings, self.db, found, job))
        self.queue.finish(job, result)
        return result
