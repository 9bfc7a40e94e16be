"""Amounts, days, order files and the schedule."""

import unittest
from datetime import datetime

from batchlib import dates, money, orderfiles, schedule
from tests.support import RootTest, row


class UnitsTest(unittest.TestCase):
    def test_amounts(self) -> None:
        for text, cents in {"1.204,50": 120450, "7": 700, "7,5": 750, "0,09": 9}.items():
            self.assertEqual(money.parse(text), cents)
        for text in ("", "1,204.50", "-1", "1.20", ",5"):
            with self.assertRaises(ValueError):
                money.parse(text)
        self.assertEqual(money.show(-300), "-3,00")

    def test_net_and_commission(self) -> None:
        self.assertEqual(money.net_of(1190, "DE"), 1000)
        self.assertEqual(money.commission_on(1000, "harbour", "2024-03-09"), 65)
        self.assertEqual(money.commission_on(1000, "harbour", "2024-03-10"), 68)

    def test_business_day(self) -> None:
        self.assertEqual(dates.business_day("2024-03-09T22:59:59Z"), "2024-03-09")
        self.assertEqual(dates.business_day("2024-03-09T23:00:00Z"), "2024-03-10")

    def test_schedule(self) -> None:
        entry = schedule.parse("*/15 1-3 * * 1,7 echo hello world")
        self.assertEqual(entry.command, "echo hello world")
        self.assertTrue(entry.due(datetime(2024, 3, 10, 2, 30)))
        self.assertFalse(entry.due(datetime(2024, 3, 9, 2, 30)))
        for line in ("60 * * * * x", "* * * *", "a * * * * x"):
            with self.assertRaises(ValueError):
                schedule.parse(line)


class OrderFileTest(RootTest):
    def read(self, text: str) -> orderfiles.OrderFile:
        self.put("orders", "north-20240309-1.csv", text)
        return orderfiles.read(self.root / "inbox/orders/north-20240309-1.csv")

    def test_rows(self) -> None:
        good = row(1, "2024-03-09T10:00:00Z", '"1.000,50"')
        found = self.read(f"header\r\n{good}\r\n\r\nx;y\r\n#END;2\r\n")
        self.assertEqual([one["gross"] for one in found.rows], [100050])
        self.assertEqual(found.bad, [(4, "2 fields")])
        self.assertTrue(found.complete)

    def test_incomplete(self) -> None:
        self.assertFalse(self.read("header\n").complete)
        self.assertFalse(self.read("header\n#END;1\n").complete)
