set -euo pipefail
cat > tests/test_fees.py <<'PY'
"""Fees on holds follow docs/fees.md."""

from __future__ import annotations

from ledger import fees

from .support import LedgerCase


class FeeTest(LedgerCase):
    def capture_in_parts(self, plan: str, parts: list[int]) -> list[dict]:
        payer, merchant = self.account(sum(parts)), self.account()
        body = {"account": payer, "merchant_account": merchant, "fee_plan": plan}
        hold = self.ok("POST", "/v1/holds", {**body, "amount": sum(parts)})["id"]
        path = f"/v1/holds/{hold}/captures"
        return [self.ok("POST", path, {"amount": part}) for part in parts]

    def test_example_of_the_agreement(self) -> None:
        done = self.capture_in_parts("charity", [100, 100, 100])
        legs = [{leg["leg"]: leg["amount"] for leg in one["capture"]["legs"]} for one in done]
        self.assertEqual([leg["processing"] for leg in legs], [1, 0, 1])
        self.assertEqual([leg["merchant"] for leg in legs], [99, 100, 99])

    def test_parts_cost_what_the_whole_costs(self) -> None:
        rounding = self.balance("acct_sys_rounding_eur")
        for parts in ([21_111, 21_111, 22_111], [333, 777, 101, 8_789], [100] * 9):
            whole = self.capture_in_parts("marketplace", [sum(parts)])[-1]["hold"]
            split = self.capture_in_parts("marketplace", parts)[-1]["hold"]
            for field in ("fees", "merchant_total", "captured", "status", "remaining"):
                self.assertEqual(split[field], whole[field])
        self.assertEqual(self.balance("acct_sys_rounding_eur"), rounding)

    def test_halves_go_up_and_nothing_is_a_float(self) -> None:
        rate = fees.Rate("processing", 55)
        self.assertEqual([fees.total(rate, n) for n in (1_000, 3_000)], [6, 17])
        self.assertEqual(fees.total(rate, 10**30 + 1_000), 55 * 10**26 + 6)

    def test_a_hold_from_before(self) -> None:
        hold = "hold_aed5590ec367"
        self.assertEqual(self.ok("GET", f"/v1/holds/{hold}")["captured"], 12_543)
        done = self.ok("POST", f"/v1/holds/{hold}/captures", {"amount": 2_457})["hold"]
        self.assertEqual(done["captured"], 15_000)
        self.assertEqual(done["fees"], {"processing": 218, "scheme": 53})
PY
python3 -m unittest 2>&1 | tail -n 4
sh restart.sh
python3 -m ledger.admin check-books
