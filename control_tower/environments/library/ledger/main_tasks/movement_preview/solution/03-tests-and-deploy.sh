set -euo pipefail
cat > tests/test_preview.py <<'PY'
"""A preview is what happens then."""

from __future__ import annotations

from .support import CHECKOUT, DASHBOARD, LedgerCase


class PreviewTest(LedgerCase):
    def setUp(self) -> None:
        super().setUp()
        self.payer, self.payee = self.account(50_000), self.account()

    def preview(self, operation: str, **members: object) -> dict:
        head = self.ok("GET", "/v1/audit/head")
        shown = self.ok("POST", "/v1/preview", {"operation": operation, **members})
        self.assertEqual(self.ok("GET", "/v1/audit/head"), head)
        return shown

    def as_previewed(self, shown: dict) -> None:
        for account in shown["accounts"]:
            self.assertEqual(self.ok("GET", f"/v1/accounts/{account['id']}"), account)

    def test_transfer_and_reversal(self) -> None:
        body = {"from_account": self.payer, "to_account": self.payee, "currency": "EUR"}
        shown = self.preview("transfer", **body, amount=700)
        self.assertEqual(
            shown["postings"],
            [
                {"account": self.payer, "amount": -700, "balance": 49_300},
                {"account": self.payee, "amount": 700, "balance": 700},
            ],
        )
        made = self.ok("POST", "/v1/transfers", {**body, "amount": 700})["id"]
        self.as_previewed(shown)
        shown = self.preview("reversal", transfer=made)
        self.ok("POST", f"/v1/transfers/{made}/reversals")
        self.as_previewed(shown)
        again = {"operation": "reversal", "transfer": made}
        self.refused(409, "already_reversed", "POST", "/v1/preview", again)

    def test_hold_capture_release(self) -> None:
        body = {"account": self.payer, "merchant_account": self.payee, "amount": 30_000}
        shown = self.preview("hold", **body, fee_plan="marketplace")
        hold = self.ok("POST", "/v1/holds", {**body, "fee_plan": "marketplace"})["id"]
        self.as_previewed(shown)
        for amount in (21_111, 100):
            shown = self.preview("capture", hold=hold, amount=amount)
            self.ok("POST", f"/v1/holds/{hold}/captures", {"amount": amount})
            self.as_previewed(shown)
            self.assertEqual(sum(one["amount"] for one in shown["postings"]), 0)
        shown = self.preview("release", hold=hold)
        self.ok("POST", f"/v1/holds/{hold}/release")
        self.as_previewed(shown)

    def test_tokens_and_operations(self) -> None:
        path, good = "/v1/preview", {"operation": "deposit", "account": self.payer, "amount": 5}
        self.ok("POST", path, good, CHECKOUT)
        self.refused(403, "forbidden", "POST", path, good, DASHBOARD)
        self.refused(401, "unauthenticated", "POST", path, good, None)
        self.refused(400, "invalid_request", "POST", path, {"operation": "gift"}, DASHBOARD)

    def test_does_not_wait_for_a_writer(self) -> None:
        with self.connect() as conn:
            conn.execute("BEGIN IMMEDIATE")
            self.preview("deposit", account=self.payer, amount=5)
PY
python3 -m unittest 2>&1 | tail -n 4
sh restart.sh
