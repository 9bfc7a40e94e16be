set -euo pipefail
cat > tests/test_leases.py <<'PY'
"""Who has a job, and what happens when its worker goes."""

from __future__ import annotations

from millrace import jobs, store

from .support import QueueCase


class LeaseTest(QueueCase):
    def setUp(self) -> None:
        super().setUp()
        self.id = self.submit(max_attempts=2)
        self.first = self.queue.claim("w1")

    def expire(self) -> None:
        self.db.zadd(store.RUNNING, {self.id: 0})
        self.assertEqual(self.queue.reap(), [self.id])

    def job(self) -> jobs.Job:
        return jobs.load(self.db, self.id)

    def test_a_lease_can_be_renewed(self) -> None:
        self.db.zadd(store.RUNNING, {self.id: 0})
        self.assertTrue(self.queue.renew(self.first))
        self.assertEqual(self.queue.reap(), [])

    def test_cut_off_runs_count(self) -> None:
        self.expire()
        self.assertEqual(self.job().state, "waiting")
        self.assertEqual(self.queue.claim("w2").attempts, 2)
        self.expire()
        self.assertEqual((self.job().state, self.job().error), ("failed", "worker lost"))
        self.assertEqual(self.db.lrange(store.DEAD, 0, -1), [self.id])

    def test_late_runs_change_nothing(self) -> None:
        self.expire()
        second = self.queue.claim("w2")
        self.assertFalse(self.queue.renew(self.first))
        self.assertEqual(self.queue.fail(self.first, "late"), "lost")
        self.assertFalse(self.queue.release(self.first))
        self.assertEqual(self.job().state, "running")
        self.assertTrue(self.queue.finish(second, {}))
        self.assertFalse(self.queue.finish(self.first, {"late": True}))
        self.assertEqual(self.job().result, {})

    def test_a_released_run_is_no_attempt(self) -> None:
        self.queue.release(self.first)
        self.assertEqual((self.job().state, self.job().attempts), ("waiting", 0))
        self.assertEqual(self.queue.claim("w2").id, self.id)

    def test_lost_jobs_are_rescued(self) -> None:
        self.assertEqual(self.queue.rescue(), [])
        self.db.zrem(store.RUNNING, self.id)
        self.assertEqual(self.queue.rescue(), [self.id])
        self.assertEqual(self.queue.claim("w2").id, self.id)
PY
python3 -m unittest 2>&1 | tail -n 4
sh restart.sh
python3 -m millrace.admin queue
