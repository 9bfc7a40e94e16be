"""A ledger of its own for each test: temporary folder, own port, served by a thread."""

from __future__ import annotations

import http.client
import json
import shutil
import tempfile
import threading
import unittest
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from ledger import config, db, service
from ledger.api.server import Server

SECRETS = dict(
    line.split("=", 1)
    for line in (config.ROOT / "secrets/tokens.env").read_text(encoding="ascii").splitlines()
    if "=" in line
)
ADMIN = SECRETS["BOOTSTRAP_TOKEN"]
CHECKOUT = SECRETS["CHECKOUT_TOKEN"]
DASHBOARD = SECRETS["DASHBOARD_TOKEN"]


class LedgerCase(unittest.TestCase):
    """Tests against a freshly seeded ledger."""

    def setUp(self) -> None:
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        self.config = replace(
            config.load(config.ROOT / "ledger.conf"),
            port=0,
            database=folder / "ledger.db",
            pid_file=folder / "ledger.pid",
            log_file=folder / "ledger.log",
        )
        service.prepare(self.config)
        self.start()
        self.addCleanup(lambda: self.stop())

    def start(self) -> None:
        """Serve the ledger from a thread."""
        self.server = Server(self.config)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Stop serving; what is in the database stays."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        token: str | None = ADMIN,
        headers: dict | None = None,
    ) -> tuple[int, dict, dict]:
        """One request; returns status, body and headers (names in lower case)."""
        sent = {**({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
        conn = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=10)
        with closing(conn):
            payload = None if body is None else json.dumps(body)
            conn.request(method, path, payload, sent)
            answer = conn.getresponse()
            got = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, json.loads(answer.read()), got

    def ok(self, method: str, path: str, body: object = None, token: str | None = ADMIN) -> dict:
        """One request that must succeed; returns the body."""
        status, answer, _ = self.call(method, path, body, token)
        self.assertIn(status, (200, 201), answer)
        return answer

    def refused(
        self,
        status: int,
        code: str,
        method: str,
        path: str,
        body: object = None,
        token: str | None = ADMIN,
    ) -> None:
        """One request that must be refused in this way."""
        got, answer, _ = self.call(method, path, body, token)
        self.assertEqual((got, answer["error"]["code"]), (status, code))

    def account(self, funds: int = 0, currency: str = "EUR") -> str:
        """A new customer's new account with `funds` minor units; returns its id."""
        customer = self.ok(
            "POST",
            "/v1/customers",
            {
                "name": "Test Person",
                "email": "t@example.test",
                "tax_id": "TX-1-2",
                "iban": "ZZ00TEST0000000000",
            },
        )
        opened = self.ok(
            "POST",
            "/v1/accounts",
            {"customer_id": customer["id"], "name": "test", "currency": currency},
        )
        if funds:
            self.ok("POST", f"/v1/accounts/{opened['id']}/deposits", {"amount": funds})
        return opened["id"]

    def balance(self, account_id: str) -> int:
        """The balance of an account."""
        return self.ok("GET", f"/v1/accounts/{account_id}")["balance"]

    def connect(self) -> closing:
        """The database itself, to be used in a `with`."""
        return closing(db.connect(self.config.database))
