"""What jobs do."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from millrace import tenants
from millrace.errors import Invalid, JobError
from millrace.kinds import invoice

from .support import QueueCase

LINES = [
    {"text": "Paper, 500 sheets", "quantity": 3, "cents": 433, "vat": 21},
    {"text": "Book", "quantity": 1, "cents": 2450, "vat": 9},
    {"text": "Stamp", "quantity": 10, "cents": 101, "vat": 0},
]
INVOICE = {"number": "T-1", "date": "2026-03-30", "to": "Ada Example", "lines": LINES}


class InvoiceTest(QueueCase):
    def test_page(self) -> None:
        self.submit("invoice", INVOICE)
        result = self.run_next()
        page = Path(result["file"]).read_bytes()
        self.assertEqual(hashlib.sha256(page).hexdigest(), result["sha256"])
        text = page.decode().splitlines()
        self.assertEqual(text[0], "Test & Co")
        self.assertIn("Due      2026-04-13", text)
        self.assertIn(f"Please pay to {invoice.PAY_TO}", text)
        self.assertEqual(result["total_cents"], 1299 + 2450 + 1010 + 273 + 221)
        self.assertTrue(all(len(line) <= invoice.WIDTH for line in text))

    def test_malformed(self) -> None:
        for change in ({"date": "30-03-2026"}, {"lines": []}, {"number": "../x"}, {"vat": 1}):
            with self.assertRaises(Invalid):
                self.submit("invoice", INVOICE | change)

    def test_digest(self) -> None:
        for number, day in (("T-1", "2026-03-30"), ("T-2", "2026-04-01")):
            self.submit("invoice", INVOICE | {"number": number, "date": day})
            self.run_next()
        self.submit("digest", {"name": "april", "month": "2026-04"})
        result = self.run_next()
        rows = Path(result["file"]).read_text(encoding="utf-8").splitlines()
        self.assertEqual(rows[1:], ["T-2,2026-04-01,Ada Example,5253", ",,sum,5253"])


class WebhookTest(QueueCase):
    def setUp(self) -> None:
        super().setUp()
        self.seen: list[tuple[dict, bytes]] = []
        self.status = 204
        case = self

        class Receiver(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                case.seen.append((dict(self.headers.items()), body))
                self.send_response(case.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        url = f"http://127.0.0.1:{server.server_port}/in"
        tenants.change(self.db, "tester", {"hook_url": url})

    def test_signed(self) -> None:
        self.submit("webhook", {"event": "a.b", "data": {"x": 1}})
        self.assertEqual(self.run_next()["status"], 204)
        (headers, body), = self.seen
        self.assertEqual(json.loads(body)["event"], "a.b")
        text = headers["X-Millrace-Timestamp"].encode() + b"." + body
        mac = hmac.new(self.tenant["hook_secret"].encode(), text, hashlib.sha256).hexdigest()
        self.assertEqual(headers["X-Millrace-Signature"], f"sha256={mac}")

    def test_refused(self) -> None:
        for status, permanent in ((503, False), (410, True)):
            self.status = status
            self.submit("webhook", {"event": "a.b", "data": {}})
            with self.assertRaises(JobError) as caught:
                self.run_next()
            self.assertEqual(caught.exception.permanent, permanent)
