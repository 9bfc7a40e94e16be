set -euo pipefail
cat > tests/test_addresses.py <<'PY'
"""Addresses as text and in parts."""

from __future__ import annotations

from shop import db

from .support import ShopCase, setUpModule, tearDownModule  # noqa: F401

PARTS = ("street", "postcode", "city", "country")


class AddressTest(ShopCase):
    def stored(self) -> tuple:
        row = db.rows(self.conn, "SELECT * FROM customers ORDER BY id DESC LIMIT 1")[0]
        return tuple(row[name] for name in (*PARTS, "address"))

    def test_what_is_typed(self) -> None:
        browser = self.register(address="")
        for text, parts in {
            "a 1\n28195 Bremen": ("a 1", "28195", "Bremen", "DE"),
            "x\n a 1 \n\n1010  Wien\n\u00d6STERREICH": ("x\na 1", "1010", "Wien", "AT"),
            "a 1\n1234ab Utrecht\nnetherlands": ("a 1", "1234 AB", "Utrecht", "NL"),
            "28195 Bremen": ("28195 Bremen", "", "", ""),
            "a 1\n1234 Bremen": ("a 1\n1234 Bremen", "", "", ""),
            "Germany": ("Germany", "", "", ""),
        }.items():
            browser.post("/account", name="X", address=text)
            self.assertEqual(self.stored(), (*parts, text.strip()))

    def test_the_form(self) -> None:
        browser = self.register(address="")
        good = {"name": "X", "street": "a 1\r\nb", "postcode": "1000", "city": "Gent", "country": "BE"}
        self.assertEqual(browser.post("/account", **good).status, 303)
        self.assertEqual(self.stored()[-1], "a 1\nb\n1000 Gent\nBelgium")
        for name, value in (("street", " "), ("postcode", "10000"), ("country", "XX"), ("city", "")):
            self.assertEqual(browser.post("/account", **{**good, name: value}).status, 409)
        self.assertIn('value="Gent"', browser.get("/account").text)

    def test_the_seed_is_filled(self) -> None:
        query = "SELECT count(*) AS n FROM customers WHERE country IS NULL"
        self.assertEqual(db.rows(self.conn, query)[0]["n"], 0)
PY
sh restart.sh
python3 -m unittest tests.test_addresses 2>&1 | tail -n 4
psql "host=db dbname=shop user=shop password=saffron-otter-41" -c \
    "SELECT country, count(*) FROM customers GROUP BY country ORDER BY country"
