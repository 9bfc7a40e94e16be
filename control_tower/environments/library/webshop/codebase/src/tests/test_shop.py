"""Catalogue, basket, checkout and account."""

from __future__ import annotations

from datetime import date

from shop import db, export, money, nightly, reconcile, sessions

from .support import CARD, ShopCase, setUpModule, tearDownModule  # noqa: F401


class CatalogueTest(ShopCase):
    def test_categories(self) -> None:
        everything = self.browser.get("/").all_cents("price")
        tea = self.browser.get("/?category=tea").all_cents("price")
        self.assertEqual(len(everything), 24)
        self.assertEqual(len(tea), 7)

    def test_unknown_pages(self) -> None:
        for path in ("/product/NO-01", "/product/CND-99", "/nowhere"):
            self.assertEqual(self.browser.get(path).status, 404)

    def test_what_is_shown_is_escaped(self) -> None:
        browser = self.register("<b>4</b>\n28195 Bremen")
        self.assertIn("&lt;b&gt;", browser.get("/checkout").text)


class BasketTest(ShopCase):
    def test_adding_up(self) -> None:
        self.browser.get("/product/CND-01")
        self.browser.post("/basket/add", sku="CND-01", quantity=2)
        self.browser.post("/basket/add", sku="TEA-01", quantity=1)
        page = self.browser.get("/basket")
        self.assertEqual(page.all_cents("line"), [1780, 1180])
        self.assertEqual([page.cents(n) for n in ("goods", "shipping", "total")], [2960, 490, 3450])
        self.browser.post("/basket/change", sku="CND-01", quantity=5)
        self.assertEqual(self.browser.get("/basket").cents("shipping"), 0)
        for sku in ("CND-01", "TEA-01"):
            self.browser.post("/basket/change", sku=sku, quantity=0)
        self.assertEqual(self.browser.get("/basket").cents("total"), 0)

    def test_prices_hold_for_a_while(self) -> None:
        self.browser.get("/product/BKS-01")
        self.browser.post("/basket/add", sku="BKS-01", quantity=1)
        db.run(self.conn, "UPDATE products SET price_cents = 1900 WHERE sku = 'BKS-01'")
        self.assertEqual(self.browser.get("/basket").cents("goods"), 1800)
        db.run(self.conn, "UPDATE basket_lines SET priced_at = now() - interval '31 minutes'")
        self.assertEqual(self.browser.get("/basket").cents("goods"), 1900)
        db.run(self.conn, "UPDATE products SET price_cents = 1800 WHERE sku = 'BKS-01'")

    def test_forms_need_their_token(self) -> None:
        self.browser.get("/basket")
        self.browser.csrf = "x"
        self.assertEqual(self.browser.post("/basket/add", sku="CND-01", quantity=1).status, 403)


class CheckoutTest(ShopCase):
    def test_an_order(self) -> None:
        before = self.on_hand("TEA-02")
        browser = self.register()
        number = self.order(browser, TEA_02=2, WRE_02=1)
        page = browser.get(f"/order/{number}")
        self.assertEqual(page.cents("total"), 3380 + 1350 + 490)
        self.assertEqual(page.cents("vat"), money.vat_in(3380, 700) + money.vat_in(1350, 2000))
        self.assertEqual(self.provider.charges[number], 5220)
        self.assertEqual(self.on_hand("TEA-02"), before - 2)
        self.assertEqual(browser.get("/basket").cents("total"), 0)
        self.assertEqual(self.register().get(f"/order/{number}").status, 404)

    def test_what_does_not_come_about(self) -> None:
        browser = self.register(address="")
        browser.post("/basket/add", sku="CND-01", quantity=1)
        self.assertEqual(browser.post("/checkout", **CARD).error, "no_address")
        browser = self.register()
        self.assertEqual(browser.post("/checkout", **CARD).error, "empty")
        browser.post("/basket/add", sku="CND-01", quantity=1)
        declined = {**CARD, "card_number": "4000 0012 0000 0002"}
        self.assertEqual(browser.post("/checkout", **declined).error, "declined")
        self.assertEqual(browser.get("/basket").cents("goods"), 890)
        self.assertEqual(self.provider.charges, {})

    def test_sold_out(self) -> None:
        db.run(self.conn, "UPDATE products SET on_hand = 1 WHERE sku = 'BKS-05'")
        browser = self.register()
        browser.post("/basket/add", sku="BKS-05", quantity=2)
        self.assertEqual(browser.post("/checkout", **CARD).error, "sold_out")
        self.assertEqual(self.provider.charges, {})

    def test_cancelling(self) -> None:
        before = self.on_hand("CND-04")
        browser = self.register()
        number = self.order(browser, CND_04=3)
        self.assertEqual(browser.post(f"/order/{number}/cancel").status, 303)
        self.assertEqual(self.on_hand("CND-04"), before)
        self.assertEqual(browser.get(f"/order/{number}").cents("refunded"), 5970)
        self.assertEqual(browser.post(f"/order/{number}/cancel").status, 409)


class AccountTest(ShopCase):
    def test_logging_in_keeps_the_basket(self) -> None:
        self.browser.get("/login")
        self.browser.post("/basket/add", sku="CND-01", quantity=1)
        wrong = self.browser.post("/login", email="demo@example.test", password="no")
        self.assertEqual(wrong.status, 403)
        right = {"email": " Demo@example.test", "password": "demo-alder-7"}
        self.assertEqual(self.browser.post("/login", **right).location, "/account")
        self.assertEqual(self.browser.get("/basket").cents("goods"), 890)

    def test_an_address_is_taken_once(self) -> None:
        self.browser.get("/register")
        taken = {"email": "demo@example.test", "name": "X", "password": "long enough"}
        self.assertEqual(self.browser.post("/register", **taken).status, 409)


class OperationsTest(ShopCase):
    def test_money(self) -> None:
        self.assertEqual([money.cents(t) for t in ("12", "12.3", "0,05")], [1200, 1230, 5])
        self.assertEqual([money.euros(n) for n in (5, -1234)], ["0.05", "-12.34"])
        self.assertEqual(money.vat_in(10_700, 700), 700)

    def test_nightly(self) -> None:
        self.browser.get("/")
        db.run(self.conn, "UPDATE sessions SET seen_at = now() - interval '31 days'")
        report = nightly.run(self.conn, date(2024, 7, 3))
        self.assertNotIn("sessions purged: 0", report)
        self.assertTrue(any("whole" in line for line in report))
        self.assertEqual(sessions.purge(self.conn), 0)

    def test_export(self) -> None:
        lines = list(export.lines(self.conn, "2024-06-11"))
        self.assertEqual(lines[0].count(";"), 6)
        self.assertTrue(all(line.split(";")[1] == "2024-06-11" for line in lines[1:]))

    def test_reconcile(self) -> None:
        number = self.order(self.register(), WRE_06=1)
        charge = {"reference": number, "amount": 1640, "refunded": 0}
        from unittest import mock

        with mock.patch("shop.psp.charges", return_value=[charge]):
            found = reconcile.differences(self.conn, self.config)
        self.assertFalse(any(number in line for line in found))
