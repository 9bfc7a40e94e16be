set -euo pipefail
cat > tests/test_idempotency.py <<'PY'
"""Idempotency keys of transfers."""

from __future__ import annotations

import threading

from ledger import idempotency

from .support import ADMIN, CHECKOUT, LedgerCase


class IdempotencyTest(LedgerCase):
    def setUp(self) -> None:
        super().setUp()
        self.payer, self.payee = self.account(10_000), self.account()
        accounts = {"from_account": self.payer, "to_account": self.payee}
        self.body = {**accounts, "amount": 2_500, "currency": "EUR"}

    def send(self, key: str, token: str = CHECKOUT, **changes: object) -> tuple[int, dict, dict]:
        headers = {"Idempotency-Key": key}
        return self.call("POST", "/v1/transfers", {**self.body, **changes}, token, headers)

    def test_replay(self) -> None:
        status, first, headers = self.send("k1")
        self.assertEqual((status, "idempotent-replay" in headers), (201, False))
        self.ok("POST", f"/v1/transfers/{first['id']}/reversals")
        head = self.ok("GET", "/v1/audit/head")
        self.stop()
        self.start()
        status, again, headers = self.send("k1")
        self.assertEqual((status, again, headers["idempotent-replay"]), (201, first, "true"))
        self.assertEqual(self.ok("GET", "/v1/audit/head"), head)
        self.assertEqual(self.balance(self.payer), 10_000)

    def test_reuse_and_other_tokens(self) -> None:
        first = self.send("k1")[1]
        status, answer, _ = self.send("k1", amount=1)
        self.assertEqual((status, answer["error"]["code"]), (422, "idempotency_key_reused"))
        self.assertNotEqual(self.send("k1", ADMIN)[1]["id"], first["id"])
        self.assertEqual(self.balance(self.payer), 5_000)

    def test_a_refusal_leaves_the_key(self) -> None:
        self.assertEqual(self.send("k1", amount=20_000)[0], 409)
        self.assertEqual(self.send("k1", amount=0)[0], 400)
        self.assertEqual(self.send("k1")[0], 201)

    def test_form_of_keys(self) -> None:
        for key in ("", "a b", "x" * 65):
            status, answer, _ = self.send(key)
            self.assertEqual((status, answer["error"]["code"]), (400, "invalid_idempotency_key"))
        self.assertEqual(self.send("Aa0._:-" + "x" * 57)[0], 201)

    def test_at_once(self) -> None:
        made = []
        threads = [threading.Thread(target=lambda: made.append(self.send("k1"))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({status for status, _, _ in made}, {201})
        self.assertEqual(len({answer["id"] for _, answer, _ in made}), 1)
        self.assertEqual(self.balance(self.payer), 7_500)

    def test_purge(self) -> None:
        first = self.send("k1")[1]
        with self.connect() as conn:
            self.assertEqual(idempotency.purge(conn, 1), 0)
            self.assertEqual(idempotency.purge(conn, 0), 1)
        self.assertNotEqual(self.send("k1")[1]["id"], first["id"])
PY
python3 -m unittest 2>&1 | tail -n 4
sh restart.sh
