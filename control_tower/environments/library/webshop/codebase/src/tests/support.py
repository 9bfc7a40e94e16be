"""A database for the tests, a provider that is not there, and a browser of sorts."""

from __future__ import annotations

import io
import os
import re
import unittest
from dataclasses import replace
from unittest import mock
from urllib.parse import urlencode, urlsplit
from wsgiref.util import setup_testing_defaults

from shop import config, db, psp, server

CARD = {"card_number": "4000 0005 0000 0007", "card_expiry": "12/31", "card_cvc": "123"}
_NAME = f"shop_test_{os.getpid()}"
_settings = config.load()


def setUpModule() -> None:
    """One database for all tests of a module, with the seed."""
    _on_server(f"CREATE DATABASE {_NAME}")
    server.prepare(settings())


def tearDownModule() -> None:
    """The database goes, whoever is still connected."""
    ShopCase._app = None
    _on_server(f"DROP DATABASE IF EXISTS {_NAME} WITH (FORCE)")


def settings() -> config.Config:
    """The settings of the tests."""
    url = re.sub(r"dbname=\S+", f"dbname={_NAME}", _settings.database)
    return replace(_settings, database=url)


def _on_server(statement: str) -> None:
    conn = db.connect(_settings.database)
    db.run(conn, statement)
    conn.close()


class Provider:
    """Stands in for the payment provider, and remembers."""

    def __init__(self) -> None:
        self.charges: dict[str, int] = {}
        self.refunds: list[tuple[str, int]] = []

    def charge(self, config: object, reference: str, amount: int, card: dict) -> str:
        """Charge, unless the card ends in 0002."""
        if card["number"].endswith("0002"):
            raise psp.Declined("declined")
        self.charges[reference] = amount
        return f"ch_{reference}"

    def refund(self, config: object, charge_id: str, amount: int) -> str:
        """Pay back."""
        self.refunds.append((charge_id, amount))
        return f"re_{charge_id}"


class Page:
    """An answer, and what is on it."""

    def __init__(self, status: int, headers: dict[str, str], text: str) -> None:
        self.status = status
        self.location = headers.get("Location", "")
        self.text = text

    def cents(self, name: str) -> int:
        """The amount of a field."""
        return self.all_cents(name)[0]

    def all_cents(self, name: str) -> list[int]:
        """The amounts of all fields of a name."""
        return [int(n) for n in re.findall(rf'data-field="{name}" data-cents="(-?\d+)"', self.text)]

    @property
    def error(self) -> str:
        """The code of the error message."""
        found = re.search(r'data-error="(\w*)"', self.text)
        return found[1] if found else ""


class Browser:
    """Follows no redirects, keeps its cookie, and fills in the hidden field of forms."""

    def __init__(self, app: server.App) -> None:
        self.app, self.cookie, self.csrf = app, "", ""

    def get(self, path: str) -> Page:
        """Load a page."""
        page = self._ask("GET", path)
        found = re.search(r'name="csrf" value="([^"]+)"', page.text)
        self.csrf = found[1] if found else self.csrf
        return page

    def post(self, path: str, **fields: object) -> Page:
        """Send a form."""
        return self._ask("POST", path, urlencode({"csrf": self.csrf, **fields}))

    def _ask(self, method: str, path: str, body: str = "") -> Page:
        url = urlsplit(path)
        environ = {"REQUEST_METHOD": method, "PATH_INFO": url.path, "QUERY_STRING": url.query}
        environ |= {"HTTP_COOKIE": self.cookie, "CONTENT_LENGTH": str(len(body))}
        environ["wsgi.input"] = io.BytesIO(body.encode())
        setup_testing_defaults(environ)
        answer: dict = {}

        def start(status: str, headers: list) -> None:
            answer["status"], answer["headers"] = int(status.split()[0]), dict(headers)

        text = b"".join(self.app(environ, start)).decode()
        if "Set-Cookie" in answer["headers"]:
            self.cookie = answer["headers"]["Set-Cookie"].split(";")[0]
        return Page(answer["status"], answer["headers"], text)


class ShopCase(unittest.TestCase):
    """A test with a shop, a customer's browser, and a connection to the database."""

    def setUp(self) -> None:
        self.config = settings()
        self.app = ShopCase._app = ShopCase._app or server.App(self.config)
        self.conn = db.connect(self.config.database)
        self.addCleanup(self.conn.close)
        self.provider = Provider()
        for name in ("charge", "refund"):
            patch = mock.patch.object(psp, name, getattr(self.provider, name))
            patch.start()
            self.addCleanup(patch.stop)
        self.browser = Browser(self.app)

    _app: server.App | None = None
    _count = 0

    def register(self, address: str = "Lindenweg 4\n28195 Bremen") -> Browser:
        """A browser in which a new customer is logged in."""
        ShopCase._count += 1
        browser = Browser(self.app)
        browser.get("/register")
        email = f"case{ShopCase._count}@example.test"
        browser.post("/register", email=email, name="Test Case", password="long enough")
        browser.get("/account")
        if address:
            self.assertEqual(
                browser.post("/account", name="Test Case", address=address).status, 303
            )
        return browser

    def order(self, browser: Browser, **items: int) -> str:
        """Order articles, `CND_01=2`; returns the number."""
        for sku, quantity in items.items():
            browser.post("/basket/add", sku=sku.replace("_", "-"), quantity=quantity)
        page = browser.post("/checkout", **CARD)
        self.assertEqual(page.status, 303, page.text)
        return page.location.rpartition("/")[2]

    def on_hand(self, sku: str) -> int:
        """The stock of an article."""
        return db.rows(self.conn, "SELECT on_hand FROM products WHERE sku = %s", (sku,))[0][
            "on_hand"
        ]
