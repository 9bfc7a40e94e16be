"""The back office."""

from __future__ import annotations

import re

from shop import audit, config, db

from .support import Browser, ShopCase, setUpModule, tearDownModule  # noqa: F401

PASSWORDS = dict(
    line.split("=")
    for line in (config.ROOT / "secrets" / "staff.env").read_text().splitlines()
    if not line.startswith("#")
)


class OfficeCase(ShopCase):
    def office(self, login: str) -> Browser:
        """A browser in which a member of staff is logged in."""
        browser = Browser(self.app)
        browser.get("/office/login")
        page = browser.post("/office/login", login=login, password=PASSWORDS[login])
        self.assertEqual(page.location, "/office")
        browser.get("/office/order/W100001")
        return browser


class RefundTest(OfficeCase):
    def test_a_refund_is_on_record(self) -> None:
        customer = self.register()
        number = self.order(customer, WRE_01=2)
        office = self.office("mokafor")
        page = office.post(f"/office/order/{number}/refund", amount="20,50", reason="G", note="hm")
        self.assertEqual(page.status, 303)
        self.assertEqual(customer.get(f"/order/{number}").cents("refunded"), 2050)
        self.assertIn('data-action="order.refund"', office.get(f"/office/order/{number}").text)
        self.assertEqual(audit.verify(self.conn)[1], [])

    def test_limits(self) -> None:
        number = self.order(self.register(), WRE_01=2)
        path = f"/office/order/{number}/refund"
        support, manager = self.office("rsalt"), self.office("hlind")
        self.assertEqual(support.post(path, amount="100.01", reason="P").status, 409)
        self.assertEqual(manager.post(path, amount="100.01", reason="P").status, 303)
        self.assertEqual(manager.post(path, amount="100.01", reason="P").status, 409)
        self.assertEqual(manager.post(path, amount="x", reason="P").status, 409)
        self.assertEqual(manager.post(path, amount="1", reason="Z").status, 409)


class StaffTest(OfficeCase):
    def test_who_may_what(self) -> None:
        self.assertEqual(Browser(self.app).get("/office").location, "/office/login")
        self.assertEqual(self.register().get("/office").location, "/office/login")
        self.assertEqual(self.office("mokafor").get("/office/staff").status, 403)
        self.assertEqual(self.office("jbrandt").get("/office/audit").status, 200)

    def test_coming_and_going(self) -> None:
        office = self.office("hlind")
        page = office.post("/office/staff/add", login="newbie", name="New", role="support")
        PASSWORDS["newbie"] = re.search(r'data-password="([^"]+)"', page.text)[1]
        newbie = self.office("newbie")
        self.assertEqual(newbie.get("/office").status, 200)
        self.assertEqual(office.post("/office/staff/disable", login="newbie").status, 303)
        self.assertEqual(newbie.get("/office").location, "/office/login")
        again = Browser(self.app)
        again.get("/office/login")
        page = again.post("/office/login", login="newbie", password=PASSWORDS["newbie"])
        self.assertEqual(page.status, 403)

    def test_a_changed_record_shows(self) -> None:
        self.office("hlind")
        db.run(self.conn, "UPDATE audit SET actor = 'rsalt' WHERE seq = 2")
        self.assertEqual(audit.verify(self.conn)[1], ["record 2 was changed"])
        db.run(self.conn, "UPDATE audit SET actor = 'operations' WHERE seq = 2")
