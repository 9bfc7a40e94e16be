"""Holds, captures and releases."""

from __future__ import annotations

from ledger import holds

from .support import LedgerCase


class HoldTest(LedgerCase):
    def setUp(self) -> None:
        super().setUp()
        self.payer, self.merchant = self.account(50_000), self.account()

    def hold(self, amount: int = 20_000, **fields: object) -> str:
        body = {
            "account": self.payer,
            "merchant_account": self.merchant,
            "amount": amount,
            **fields,
        }
        return self.ok("POST", "/v1/holds", body)["id"]

    def test_reserves_without_moving(self) -> None:
        hold = self.hold()
        account = self.ok("GET", f"/v1/accounts/{self.payer}")
        self.assertEqual(
            (account["balance"], account["held"], account["available"]), (50_000, 20_000, 30_000)
        )
        shown = self.ok("GET", f"/v1/holds/{hold}")
        self.assertEqual(
            (shown["status"], shown["remaining"], shown["captured"]), ("open", 20_000, 0)
        )
        body = {"account": self.payer, "merchant_account": self.merchant, "amount": 30_001}
        self.refused(409, "insufficient_funds", "POST", "/v1/holds", body)

    def test_full_capture_divides_by_the_plan(self) -> None:
        hold = self.hold(fee_plan="marketplace")
        done = self.ok("POST", f"/v1/holds/{hold}/captures", {"amount": 20_000})
        self.assertEqual(done["hold"]["fees"], {"platform": 850, "processing": 290, "partner": 170})
        self.assertEqual(done["hold"]["merchant_total"], 18_690)
        self.assertEqual(done["hold"]["status"], "captured")
        self.assertEqual((self.balance(self.payer), self.balance(self.merchant)), (30_000, 18_690))
        quote = self.ok("GET", "/v1/fee-plans/marketplace/quote?amount=20000")
        self.assertEqual(quote["fees"], done["hold"]["fees"])

    def test_parts_then_release(self) -> None:
        hold = self.hold()
        self.ok("POST", f"/v1/holds/{hold}/captures", {"amount": 10_000})
        self.refused(409, "exceeds_hold", "POST", f"/v1/holds/{hold}/captures", {"amount": 10_001})
        self.refused(422, "capture_too_small", "POST", f"/v1/holds/{hold}/captures", {"amount": 99})
        self.refused(400, "invalid_request", "POST", f"/v1/holds/{hold}/captures", {})
        released = self.ok("POST", f"/v1/holds/{hold}/release")
        self.assertEqual((released["status"], released["captured"]), ("released", 10_000))
        self.assertEqual(self.ok("GET", f"/v1/accounts/{self.payer}")["held"], 0)
        self.refused(409, "hold_not_open", "POST", f"/v1/holds/{hold}/release")

    def test_bad_requests(self) -> None:
        good = {"account": self.payer, "merchant_account": self.merchant, "amount": 1_000}
        self.refused(404, "not_found", "POST", "/v1/holds", {**good, "fee_plan": "free"})
        self.refused(400, "invalid_request", "POST", "/v1/holds", {**good, "expires_in": 0})
        self.refused(
            422, "same_account", "POST", "/v1/holds", {**good, "merchant_account": self.payer}
        )

    def test_expiry_frees_the_money(self) -> None:
        hold = self.hold()
        with self.connect() as conn:
            conn.execute("UPDATE holds SET expires_at = '2020' WHERE id = ?", (hold,))
            self.assertEqual(holds.expire(conn, "test"), [hold])
        self.refused(409, "hold_not_open", "POST", f"/v1/holds/{hold}/captures", {"amount": 100})
        self.assertEqual(self.ok("GET", f"/v1/accounts/{self.payer}")["held"], 0)
