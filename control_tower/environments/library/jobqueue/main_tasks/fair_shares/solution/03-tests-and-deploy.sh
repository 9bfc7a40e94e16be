set -euo pipefail
cat > tests/test_shares.py <<'PY'
"""Whose job is next."""

from __future__ import annotations

from millrace import store, tenants

from .support import QueueCase

METER = {"kind": "meter", "payload": {"meter": "pages", "add": 1}}


class ShareTest(QueueCase):
    def setUp(self) -> None:
        super().setUp()
        for name in ("aa", "bb"):
            tenants.create(self.db, {"id": name, "name": name})

    def put(self, tenant: str, **more: object) -> str:
        return self.queue.submit(tenant, METER | more).id

    def taken(self) -> list[str]:
        found = []
        while (job := self.queue.claim("w1")) is not None:
            found.append(job.tenant)
            self.queue.finish(job, {})
        return found

    def test_turns(self) -> None:
        for name in ("bb", "bb", "bb", "aa", "aa", "tester"):
            self.put(name)
        self.assertEqual(self.taken(), ["aa", "bb", "tester", "aa", "bb", "bb"])
        for name in ("bb", "aa", "tester"):
            self.put(name)
        self.assertEqual(self.taken(), ["tester", "aa", "bb"])

    def test_priority(self) -> None:
        made = [self.put("aa", priority=priority) for priority in (5, 0, 9, 5)]
        order = [self.queue.claim("w1").id for _ in made]
        self.assertEqual(order, [made[2], made[0], made[3], made[1]])

    def test_limit(self) -> None:
        tenants.change(self.db, "aa", {"max_running": 1})
        for _ in range(2):
            self.put("aa")
        job = self.queue.claim("w1")
        self.assertIsNone(self.queue.claim("w2"))
        self.assertEqual(self.queue.shares(), {"aa": {"waiting": 1, "running": 1}})
        self.db.zadd(store.RUNNING, {job.id: 0})
        self.queue.reap()
        self.assertIsNotNone(self.queue.claim("w2"))
        self.assertIsNone(self.queue.claim("w3"))

    def test_old_jobs(self) -> None:
        job_id = self.put("aa")
        self.db.delete(store.ready("aa"), store.WAITING)
        self.db.hdel(store.job(job_id), "priority")
        self.db.rpush(store.READY, job_id)
        self.assertEqual(self.queue.adopt(), 1)
        self.assertEqual(self.queue.claim("w1").id, job_id)

    def test_cancelled(self) -> None:
        self.queue.cancel("aa", self.put("aa"))
        self.assertEqual(self.queue.overview()["tenants"], {})
PY
python3 -m unittest 2>&1 | tail -n 4
sh restart.sh
python3 -m millrace.admin queue
