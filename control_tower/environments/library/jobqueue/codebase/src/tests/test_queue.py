"""From submission to the end of a job."""

from __future__ import annotations

from millrace import ids, jobs, metrics, recurring, store
from millrace.errors import Conflict, Invalid, NotFound

from .support import QueueCase


class QueueTest(QueueCase):
    def state(self, job_id: str) -> str:
        return jobs.load(self.db, job_id).state

    def test_first_in_first_out(self) -> None:
        made = [self.submit() for _ in range(3)]
        taken = [self.queue.claim("w1") for _ in range(3)]
        self.assertEqual([job.id for job in taken], made)
        self.assertEqual([job.claim for job in taken], [1, 2, 3])
        self.assertIsNone(self.queue.claim("w1"))

    def test_done(self) -> None:
        job_id = self.submit()
        self.assertEqual(self.run_next(), {"total": 1})
        job = jobs.load(self.db, job_id)
        self.assertEqual((job.state, job.attempts, job.result), ("done", 1, {"total": 1}))
        self.assertEqual(metrics.of(self.db, "tester")["done"], 1)
        self.assertEqual(self.queue.overview()["running"], 0)

    def test_a_failure_is_tried_again_and_then_given_up(self) -> None:
        job_id = self.submit(max_attempts=2)
        self.assertEqual(self.queue.fail(self.queue.claim("w1"), "no luck"), "delayed")
        self.assertIsNone(self.queue.claim("w1"))
        self.db.zadd(store.DELAYED, {job_id: 0})
        self.assertEqual(self.queue.promote(), 1)
        self.assertEqual(self.queue.fail(self.queue.claim("w1"), "no luck"), "failed")
        self.assertEqual(self.db.lrange(store.DEAD, 0, -1), [job_id])
        counted = metrics.of(self.db, "tester")
        self.assertEqual((counted["retried"], counted["failed"]), (1, 1))

    def test_delayed(self) -> None:
        job_id = self.submit(delay_ms=60_000)
        self.assertEqual((self.state(job_id), self.queue.promote()), ("delayed", 0))
        self.db.zadd(store.DELAYED, {job_id: 0})
        self.queue.promote()
        self.assertEqual(self.queue.claim("w1").id, job_id)

    def test_cancel(self) -> None:
        waiting, delayed = self.submit(), self.submit(delay_ms=60_000)
        for job_id in (waiting, delayed):
            self.assertEqual(self.queue.cancel("tester", job_id).state, "cancelled")
        self.assertIsNone(self.queue.claim("w1"))
        running = self.submit()
        self.queue.claim("w1")
        with self.assertRaises(Conflict):
            self.queue.cancel("tester", running)
        with self.assertRaises(NotFound):
            self.queue.cancel("other", waiting)

    def test_pause(self) -> None:
        self.submit()
        self.queue.pause()
        self.assertIsNone(self.queue.claim("w1"))
        self.queue.resume()
        self.assertIsNotNone(self.queue.claim("w1"))

    def test_a_lease_that_ran_out(self) -> None:
        job_id = self.submit()
        self.queue.claim("w1")
        self.assertEqual(self.queue.reap(), [])
        self.db.zadd(store.RUNNING, {job_id: 0})
        self.assertEqual(self.queue.reap(), [job_id])
        self.assertEqual(self.queue.claim("w2").id, job_id)

    def test_malformed(self) -> None:
        good = {"kind": "meter", "payload": {"meter": "a", "add": 1}}
        for change in (
            {"kind": "nothing"},
            {"payload": {"meter": "a", "add": 0}},
            {"max_attempts": 0},
            {"delay_ms": -1},
            {"delay_ms": 1, "run_at": ids.now()},
            {"more": 1},
        ):
            with self.assertRaises(Invalid):
                self.queue.submit("tester", good | change)

    def test_recurring(self) -> None:
        body = {"kind": "meter", "payload": {"meter": "a", "add": 1}, "every_ms": 5_000}
        one = recurring.create(self.queue, "tester", body)
        now = ids.now()
        self.assertEqual(recurring.fire(self.queue, now), [])
        self.assertEqual(len(recurring.fire(self.queue, now + 16_000)), 1)
        self.assertEqual(recurring.fire(self.queue, now + 16_000), [])
        recurring.remove(self.queue, "tester", one["id"])
        self.assertEqual(recurring.fire(self.queue, now + 90_000), [])
