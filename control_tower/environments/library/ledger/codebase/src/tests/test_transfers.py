"""Transfers and reversals."""

from __future__ import annotations

from .support import CHECKOUT, DASHBOARD, LedgerCase


class TransferTest(LedgerCase):
    def setUp(self) -> None:
        super().setUp()
        self.payer, self.payee = self.account(10_000), self.account()

    def transfer(self, amount: object = 2_500, **fields: object) -> dict:
        return {
            "from_account": self.payer,
            "to_account": self.payee,
            "amount": amount,
            "currency": "EUR",
            **fields,
        }

    def test_moves_money_and_is_audited(self) -> None:
        made = self.ok("POST", "/v1/transfers", self.transfer(memo="rent"), CHECKOUT)
        self.assertEqual((self.balance(self.payer), self.balance(self.payee)), (7_500, 2_500))
        self.assertEqual(
            (made["status"], made["kind"], made["memo"]), ("posted", "payment", "rent")
        )
        records = self.ok("GET", f"/v1/audit?subject={made['id']}")["items"]
        self.assertEqual([record["action"] for record in records], ["transfer.create"])
        self.assertEqual(records[0]["actor"], "tok_checkout")

    def test_refusals_leave_no_trace(self) -> None:
        before = self.ok("GET", "/v1/audit/head")
        dollars = self.account(currency="USD")
        head = self.ok("GET", "/v1/audit/head")
        path = "/v1/transfers"
        self.refused(409, "insufficient_funds", "POST", path, self.transfer(10_001))
        self.refused(400, "invalid_request", "POST", path, self.transfer(12.5))
        self.refused(400, "invalid_request", "POST", path, self.transfer(True))
        self.refused(400, "invalid_request", "POST", path, self.transfer(0))
        self.refused(400, "invalid_request", "POST", path, self.transfer(currency="XYZ"))
        self.refused(400, "invalid_request", "POST", path, self.transfer(reference="no spaces"))
        self.refused(400, "invalid_request", "POST", path, self.transfer(to_account=self.payer))
        self.refused(422, "currency_mismatch", "POST", path, self.transfer(to_account=dollars))
        self.refused(404, "not_found", "POST", path, self.transfer(to_account="acct_nobody"))
        self.refused(403, "forbidden", "POST", path, self.transfer(), DASHBOARD)
        self.assertEqual(self.ok("GET", "/v1/audit/head"), head)
        self.assertNotEqual(before, head)
        self.assertEqual(self.balance(self.payer), 10_000)

    def test_frozen_account_does_not_move(self) -> None:
        self.ok("POST", f"/v1/accounts/{self.payee}/status", {"status": "frozen"})
        self.refused(409, "account_not_open", "POST", "/v1/transfers", self.transfer())
        self.ok("POST", f"/v1/accounts/{self.payee}/status", {"status": "open"})
        self.ok("POST", "/v1/transfers", self.transfer())

    def test_reversal_once(self) -> None:
        made = self.ok("POST", "/v1/transfers", self.transfer(reference="INV-7"))
        back = self.ok("POST", f"/v1/transfers/{made['id']}/reversals")
        self.assertEqual(
            (back["kind"], back["reversal_of"], back["reference"]),
            ("reversal", made["id"], "INV-7"),
        )
        self.assertEqual((self.balance(self.payer), self.balance(self.payee)), (10_000, 0))
        self.assertEqual(self.ok("GET", f"/v1/transfers/{made['id']}")["status"], "reversed")
        self.refused(409, "already_reversed", "POST", f"/v1/transfers/{made['id']}/reversals")
        self.refused(409, "not_reversible", "POST", f"/v1/transfers/{back['id']}/reversals")

    def test_list_is_paged_and_narrowed(self) -> None:
        made = [self.ok("POST", "/v1/transfers", self.transfer(n + 1))["id"] for n in range(5)]
        seen, cursor = [], ""
        while cursor is not None:
            page = self.ok("GET", f"/v1/transfers?account={self.payer}&limit=2&cursor={cursor}")
            seen += [item["id"] for item in page["items"]]
            cursor = page["next_cursor"]
        self.assertEqual(seen, made)
        self.refused(400, "invalid_request", "GET", "/v1/transfers?cursor=rubbish")
        self.refused(400, "invalid_request", "GET", "/v1/transfers?limit=100000")
