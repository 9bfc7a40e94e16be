"""The front end, over HTTP."""

from __future__ import annotations

import http.client
import json
import threading

from millrace import tenants
from millrace.api.server import Server

from .support import QueueCase

JOB = {"kind": "meter", "payload": {"meter": "pages", "add": 2}}


class ApiTest(QueueCase):
    def setUp(self) -> None:
        super().setUp()
        self.server = Server(self.settings)
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.02}
        ).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def call(
        self, method: str, path: str, body: object = None, token: str | None = None
    ) -> tuple[int, dict]:
        conn = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=60)
        headers = {"Authorization": f"Bearer {token or self.tenant['token']}"}
        conn.request(method, path, None if body is None else json.dumps(body), headers)
        response = conn.getresponse()
        text = response.read().decode()
        conn.close()
        plain = response.headers["Content-Type"] == "text/plain"
        return response.status, text if plain else json.loads(text)

    def test_submit_and_show(self) -> None:
        status, made = self.call("POST", "/v1/jobs", JOB)
        self.assertEqual((status, made["state"]), (201, "waiting"))
        self.run_next()
        shown = self.call("GET", f"/v1/jobs/{made['id']}")[1]
        self.assertEqual((shown["state"], shown["result"]), ("done", {"total": 2}))
        self.assertEqual(self.call("GET", "/v1/usage")[1]["meters"], {"pages": 2})

    def test_pages(self) -> None:
        made = [self.call("POST", "/v1/jobs", JOB)[1]["id"] for _ in range(5)]
        seen, cursor = [], 0
        while cursor is not None:
            page = self.call("GET", f"/v1/jobs?limit=2&cursor={cursor}&state=waiting")[1]
            seen += [job["id"] for job in page["items"]]
            cursor = page["next_cursor"]
        self.assertEqual(seen, made)

    def test_others_see_nothing(self) -> None:
        other = tenants.create(self.db, {"id": "other", "name": "Other"})["token"]
        made = self.call("POST", "/v1/jobs", JOB)[1]["id"]
        self.assertEqual(self.call("GET", f"/v1/jobs/{made}", token=other)[0], 404)
        self.assertEqual(self.call("POST", f"/v1/jobs/{made}/cancel", token=other)[0], 404)

    def test_who_may(self) -> None:
        self.assertEqual(self.call("GET", "/v1/jobs", token="mrt_nobody")[0], 401)
        self.assertEqual(self.call("GET", "/v1/admin/queue")[0], 403)
        self.assertEqual(self.call("GET", "/v1/admin/queue", token=self.settings.admin_token)[0], 200)
        tenants.change(self.db, "tester", {"status": "closed"})
        self.assertEqual(self.call("GET", "/v1/jobs")[0], 403)

    def test_metrics(self) -> None:
        self.call("POST", "/v1/jobs", JOB)
        status, text = self.call("GET", "/metrics", token=self.settings.admin_token)
        self.assertEqual(status, 200)
        self.assertIn('millrace_submitted_total{tenant="tester"} 1\n', text)
        self.assertIn("millrace_waiting 1\n", text)

    def test_malformed(self) -> None:
        for path, body, status in (
            ("/v1/jobs", [], 400),
            ("/v1/jobs", {"kind": "x", "payload": {}}, 400),
            ("/v1/nothing", {}, 404),
        ):
            self.assertEqual(self.call("POST", path, body)[0], status)
        self.assertEqual(self.call("PATCH", "/v1/jobs", {})[0], 405)
