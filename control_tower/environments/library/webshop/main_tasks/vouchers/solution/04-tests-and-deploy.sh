set -euo pipefail
cat > tests/test_vouchers.py <<'PY'
"""Vouchers, from the basket to the order."""

from __future__ import annotations

from shop import db, vouchers

from .support import CARD, Browser, ShopCase, setUpModule, tearDownModule  # noqa: F401


class VoucherTest(ShopCase):
    def voucher(self, code: str, kind: str, value: int = 0, **more: object) -> str:
        row = {"code": code, "kind": kind, "value": value, "valid_from": "2024-01-01"}
        row |= {"valid_until": "2099-12-31", **more}
        names = ", ".join(row)
        marks = ", ".join(["%s"] * len(row))
        db.run(self.conn, f"INSERT INTO vouchers ({names}) VALUES ({marks})", tuple(row.values()))
        return code

    def refused(self, browser: Browser, code: str) -> str:
        page = browser.post("/basket/voucher", code=code)
        self.assertEqual(page.status, 409)
        return page.error

    def test_spreading(self) -> None:
        self.assertEqual(vouchers.spread(100, [1, 1, 1]), [34, 33, 33])
        self.assertEqual(vouchers.spread(5, [999, 1]), [5, 0])
        self.assertEqual(vouchers.spread(0, []), [])

    def test_a_percentage_of_a_category(self) -> None:
        self.voucher("TEA10", "percent", 1_000, category="tea")
        browser = self.register()
        for sku in ("TEA-01", "TEA-05", "WRE-03"):
            browser.post("/basket/add", sku=sku, quantity=1)
        self.assertEqual(browser.post("/basket/voucher", code=" tea10 ").status, 303)
        page = browser.get("/basket")
        self.assertEqual([page.cents(n) for n in ("goods", "discount", "shipping")], [5710, 172, 0])
        number = browser.post("/checkout", **CARD).location.rpartition("/")[2]
        rows = db.rows(
            self.conn, "SELECT * FROM order_lines WHERE number = %s ORDER BY line", (number,)
        )
        self.assertEqual([row["discount_cents"] for row in rows], [118, 54, 0])
        self.assertEqual(self.provider.charges[number], 5710 - 172)
        self.assertEqual(browser.get("/basket").text.count("data-voucher"), 0)

    def test_shipping_comes_after_the_discount(self) -> None:
        self.voucher("MINUS8", "amount", 800)
        self.voucher("SHIP", "shipping")
        browser = self.register()
        browser.post("/basket/add", sku="BKS-01", quantity=3)
        browser.post("/basket/voucher", code="MINUS8")
        self.assertEqual(browser.get("/basket").cents("total"), 5400 - 800 + 490)
        browser.post("/basket/voucher", code="SHIP")
        self.assertEqual(browser.get("/basket").cents("total"), 5400)

    def test_reasons(self) -> None:
        browser = self.register()
        browser.post("/basket/add", sku="CND-01", quantity=1)
        self.voucher("OLD", "amount", 1, valid_until="2024-01-02")
        self.voucher("OFF", "amount", 1, active=False)
        self.voucher("BIG", "amount", 1, min_goods_cents=891)
        self.voucher("TEA", "amount", 1, category="tea")
        self.voucher("GONE", "amount", 1, max_uses=0)
        self.voucher("MINE", "amount", 1, max_uses_per_customer=0)
        for code, reason in {
            "NO": "unknown", "OFF": "unknown", "OLD": "expired", "BIG": "minimum",
            "TEA": "category", "GONE": "used_up", "MINE": "used",
        }.items():  # fmt: skip
            self.assertEqual(self.refused(browser, code), f"voucher_{reason}")

    def test_uses_come_back(self) -> None:
        self.voucher("ONCE", "amount", 100, max_uses=1)
        browser = self.register()
        browser.post("/basket/add", sku="CND-01", quantity=1)
        browser.post("/basket/voucher", code="ONCE")
        number = self.order(browser)
        browser.post("/basket/add", sku="CND-01", quantity=1)
        self.assertEqual(self.refused(browser, "ONCE"), "voucher_used_up")
        browser.post(f"/order/{number}/cancel")
        self.assertEqual(browser.post("/basket/voucher", code="ONCE").status, 303)
PY
sh restart.sh
python3 -m unittest tests.test_vouchers 2>&1 | tail -n 4
