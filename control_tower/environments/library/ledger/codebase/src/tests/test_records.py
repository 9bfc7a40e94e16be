"""Customers, accounts, statements, tokens, and how the API refuses."""

from __future__ import annotations

from .support import CHECKOUT, DASHBOARD, SECRETS, LedgerCase


class CustomerTest(LedgerCase):
    def test_personal_data_is_masked_unless_revealed(self) -> None:
        customer = self.ok("GET", "/v1/customers?limit=1", token=DASHBOARD)["items"][0]
        self.assertTrue(customer["tax_id"].startswith("*****"))
        path = f"/v1/customers/{customer['id']}?reveal=true"
        self.refused(403, "forbidden", "GET", path, token=DASHBOARD)
        shown = self.ok("GET", path, token=SECRETS["KYC_TOKEN"])
        self.assertRegex(shown["tax_id"], r"\ATX-\d{3}-\d{3}-\d{2}\Z")
        looked = self.ok("GET", f"/v1/audit?subject={customer['id']}")["items"][-1]
        self.assertEqual((looked["action"], looked["actor"]), ("customer.reveal", "tok_kyc"))

    def test_nothing_personal_in_database_in_clear(self) -> None:
        self.account()
        self.assertNotIn(b"ZZ00TEST0000000000", self.config.database.read_bytes())

    def test_bad_customers(self) -> None:
        good = {
            "name": "A Person",
            "email": "a@example.test",
            "tax_id": "TX-1",
            "iban": "ZZ00TEST0000000000",
        }
        for field, value in (("name", ""), ("email", "nowhere"), ("tax_id", 7), ("iban", "12")):
            self.refused(400, "invalid_request", "POST", "/v1/customers", {**good, field: value})


class AccountTest(LedgerCase):
    def test_statement_adds_up(self) -> None:
        account, other = self.account(9_000), self.account()
        for amount in (100, 200, 300):
            body = {
                "from_account": account,
                "to_account": other,
                "amount": amount,
                "currency": "EUR",
            }
            self.ok("POST", "/v1/transfers", body)
        first = self.ok("GET", f"/v1/accounts/{account}/statement?limit=3")
        self.assertEqual((first["opening_balance"], first["closing_balance"]), (0, 8_400))
        self.assertEqual([line["balance"] for line in first["items"]], [9_000, 8_900, 8_700])
        path = f"/v1/accounts/{account}/statement?limit=3&cursor={first['next_cursor']}"
        self.assertEqual([line["amount"] for line in self.ok("GET", path)["items"]], [-300])
        later = self.ok("GET", f"/v1/accounts/{account}/statement?from=2099-01-01")
        self.assertEqual((later["opening_balance"], later["items"]), (8_400, []))
        self.refused(400, "invalid_request", "GET", f"/v1/accounts/{account}/statement?from=soon")

    def test_accounts_of_a_customer(self) -> None:
        account = self.ok("GET", f"/v1/accounts/{self.account()}")
        path = f"/v1/accounts?customer_id={account['customer_id']}"
        self.assertEqual(self.ok("GET", path)["items"], [account])


class TokenTest(LedgerCase):
    def test_life_of_a_token(self) -> None:
        made = self.ok("POST", "/v1/tokens", {"name": "report", "scopes": ["accounts:read"]})
        self.ok("GET", "/v1/accounts", token=made["token"])
        self.refused(403, "forbidden", "GET", "/v1/audit", token=made["token"])
        self.assertNotIn("token", self.ok("GET", "/v1/tokens")["items"][-1])
        self.ok("DELETE", f"/v1/tokens/{made['id']}")
        self.refused(401, "unauthenticated", "GET", "/v1/accounts", token=made["token"])
        self.refused(400, "invalid_request", "POST", "/v1/tokens", {"name": "x", "scopes": ["all"]})
        self.refused(403, "forbidden", "GET", "/v1/tokens", token=CHECKOUT)


class RefusalTest(LedgerCase):
    def test_who_and_what(self) -> None:
        self.refused(401, "unauthenticated", "GET", "/v1/accounts", token=None)
        self.refused(401, "unauthenticated", "GET", "/v1/accounts", token="ldg_wrong")
        self.refused(404, "not_found", "GET", "/v1/nothing")
        self.refused(405, "method_not_allowed", "DELETE", "/v1/accounts")
        self.refused(400, "invalid_request", "POST", "/v1/transfers", ["a", "list"])
        self.refused(400, "invalid_request", "POST", "/v1/accounts", {"memo": "x" * 70_000})

    def test_health_needs_no_token(self) -> None:
        self.assertEqual(self.ok("GET", "/health", token=None)["status"], "ok")
