set -euo pipefail
mkdir -p reports
cat > reports/price_incident.py <<'PY'
"""What is owed after the price import of 2024-06-11; writes price-incident-2024-06-11.json beside it."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from pathlib import Path

from shop import config, db, pricing

HERE = Path(__file__).parent
LOG = HERE.parent / "incidents" / "2024-06-11" / "imports.log"
DECLARED_VOID = 118
SUMS = ("goods", "shipping", "returned", "outstanding")


def void_runs() -> set[int]:
    """The runs that read the file of the run that was declared void."""
    text = LOG.read_text(encoding="utf-8")
    runs = {int(run): digest for digest, run in re.findall(r"sha256=(\w+).*\n.* run (\d+) done", text)}
    return {run for run, digest in runs.items() if digest == runs[DECLARED_VOID]}


def main() -> None:
    settings = config.load()
    conn = db.connect(settings.database)
    conn.set_session(readonly=True, autocommit=True)
    void, history = void_runs(), {}
    for row in db.rows(conn, "SELECT * FROM price_changes ORDER BY valid_from, id"):
        if row["run"] not in void:
            times, prices = history.setdefault(row["sku"], ([], []))
            times.append(row["valid_from"])
            prices.append(row["price_cents"])

    refunds: dict[str, list] = {}
    for row in db.rows(conn, "SELECT * FROM refunds WHERE status = 'done'"):
        refunds.setdefault(row["number"], []).append(row)

    orders = []
    for order in db.rows(
        conn,
        "SELECT o.*, c.email FROM orders o JOIN customers c ON c.id = o.customer_id"
        " WHERE o.status = 'paid' ORDER BY o.number",
    ):
        number = order["number"]
        back: dict[str, int] = {}
        for row in refunds.get(number, []):
            if row["reason"] == "R":
                for sku, pieces in re.findall(r"(\S+) x(\d+)", row["note"]):
                    back[sku] = back.get(sku, 0) + int(pieces)
        goods = right_goods = 0
        for line in db.rows(conn, "SELECT * FROM order_lines WHERE number = %s", (number,)):
            times, prices = history[line["sku"]]
            right = prices[bisect_right(times, line["priced_at"]) - 1]
            right_goods += right * line["quantity"]
            pieces = line["quantity"] - back.get(line["sku"], 0)
            goods += max(0, line["unit_cents"] - right) * max(0, pieces)
        free = pricing.shipping(settings, right_goods) == 0
        shipping = order["shipping_cents"] if free else 0
        if goods + shipping == 0:
            continue
        paid = sum(row["amount_cents"] for row in refunds.get(number, []) if row["reason"] == "P")
        returned = min(paid, goods + shipping)
        sums = (goods, shipping, returned, goods + shipping - returned)
        orders.append({"number": number, "email": order["email"], **dict(zip(SUMS, sums))})

    customers: dict[str, dict] = {}
    total = dict.fromkeys(("orders", *SUMS), 0)
    for order in orders:
        empty = {"email": order["email"], **dict.fromkeys(("orders", *SUMS), 0)}
        for place in (customers.setdefault(order["email"], empty), total):
            place["orders"] += 1
            for name in SUMS:
                place[name] += order[name]
    report = {
        "orders": orders,
        "customers": [customers[email] for email in sorted(customers)],
        "total": total,
    }
    path = HERE / "price-incident-2024-06-11.json"
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(len(orders), "orders,", total)


main()
PY
PYTHONPATH=. python3 reports/price_incident.py
