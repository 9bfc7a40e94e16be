set -euo pipefail
# The seed is loaded after the migrations, so its stock has to be right by itself.
python3 - <<'PY'
import csv
from collections import Counter
from pathlib import Path

moves = Counter()
with open("seed/stock_moves.csv", encoding="utf-8", newline="") as stream:
    for row in csv.DictReader(stream):
        moves[row["sku"]] += int(row["quantity"])
path = Path("seed/products.csv")
with open(path, encoding="utf-8", newline="") as stream:
    reader = csv.DictReader(stream)
    names, rows = reader.fieldnames, list(reader)
with open(path, "w", encoding="utf-8", newline="") as stream:
    writer = csv.DictWriter(stream, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, "on_hand": moves[row["sku"]]} for row in rows)
PY
cat > tests/test_stock.py <<'PY'
"""Checkouts and cancellations at the same time."""

from __future__ import annotations

import threading

from shop import db, stock

from .support import CARD, Browser, ShopCase, setUpModule, tearDownModule  # noqa: F401


class AtOnceTest(ShopCase):
    def at_once(self, tasks: list) -> list:
        answers: list = [None] * len(tasks)

        def work(place: int) -> None:
            answers[place] = tasks[place]()

        threads = [threading.Thread(target=work, args=(n,)) for n in range(len(tasks))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers

    def test_the_last_pieces(self) -> None:
        db.run(self.conn, "UPDATE products SET on_hand = 2 WHERE sku = 'CND-05'")
        buyers = [self.register() for _ in range(4)]
        for buyer in buyers:
            buyer.post("/basket/add", sku="CND-05", quantity=1)
        pages = self.at_once([lambda b=b: b.post("/checkout", **CARD) for b in buyers])
        self.assertEqual(sorted(page.error for page in pages), ["", "", "sold_out", "sold_out"])
        self.assertEqual(len(self.provider.charges), 2)
        self.assertEqual(self.on_hand("CND-05"), 0)

    def test_a_basket_is_ordered_once(self) -> None:
        buyer = self.register()
        buyer.post("/basket/add", sku="CND-02", quantity=1)
        pages = self.at_once([lambda: buyer.post("/checkout", **CARD) for _ in range(3)])
        self.assertEqual([page.status for page in pages].count(303), 1)

    def test_a_declined_card_puts_everything_back(self) -> None:
        before = self.on_hand("CND-01")
        buyer = self.register()
        buyer.post("/basket/add", sku="CND-01", quantity=2)
        buyer.post("/checkout", **{**CARD, "card_number": "4000000000000002"})
        self.assertEqual(self.on_hand("CND-01"), before)
        self.assertEqual(buyer.get("/basket").all_cents("line"), [1780])

    def test_cancelled_once(self) -> None:
        before = self.on_hand("WRE-03")
        buyer = self.register()
        number = self.order(buyer, WRE_03=1)
        pages = self.at_once([lambda: buyer.post(f"/order/{number}/cancel") for _ in range(3)])
        self.assertEqual(sorted(page.status for page in pages), [303, 409, 409])
        self.assertEqual(len(self.provider.refunds), 1)
        self.assertEqual(self.on_hand("WRE-03"), before)

    def test_the_seed_agrees_with_its_journal(self) -> None:
        off = [row["sku"] for row in stock.differences(self.conn)]
        self.assertEqual(set(off) - {"CND-05", "BKS-05"}, set())
PY
sh restart.sh
python3 -m unittest tests.test_stock 2>&1 | tail -n 4
python3 -m shop.admin check-stock
