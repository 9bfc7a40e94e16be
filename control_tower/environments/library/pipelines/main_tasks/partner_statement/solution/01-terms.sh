set -euo pipefail
# The contracts as data.
cat > etc/contracts.csv <<'CSV'
partner;least_payout;bonus_above;bonus_rate;return_days
harbour;25,00;3000,00;1,00;30
lantern;40,00;;;14
quayside;10,00;1500,00;0,50;21
CSV
cat > batchlib/statements.py <<'PY'
"""The partners' monthly statements. docs/statements.md."""

from __future__ import annotations

import calendar
import hashlib
import sqlite3
from datetime import date
from pathlib import Path

from batchlib import config, money

HEADER = "kind;order_id;day;net;commission"


def put(path: Path, text: str) -> None:
    """Write a file in one step, unless it has that content: the bank pays again what is written again."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = config.root() / f".{path.name}.new"
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def moves(conn: sqlite3.Connection, partner: str) -> list[dict]:
    """The partner's orders that count, with the days on which they were shipped and returned."""
    rows = conn.execute(
        "SELECT o.*, (SELECT min(at) FROM shipments s WHERE s.order_id = o.order_id AND kind = 'out') AS out_at"
        " FROM orders o WHERE partner = ? AND status = 'new'",
        (partner,),
    )
    found = []
    for row in rows:
        if row["out_at"] is None:
            continue
        back = conn.execute(
            "SELECT min(at) FROM shipments WHERE order_id = ? AND kind = 'return' AND at >= ?",
            (row["order_id"], row["out_at"]),
        ).fetchone()[0]
        net = money.net_of(row["gross"], row["country"])
        fee = money.commission_on(net, partner, row["day"])
        days = {"shipped": row["out_at"][:10], "returned": (back or "")[:10]}
        found.append({"order_id": row["order_id"], "net": net, "fee": fee, **days})
    return found


def lines(orders: list[dict], month: str, limit: int) -> list[tuple]:
    """The lines of a month: kind, day, order, net, commission."""
    ships = [("ship", o["shipped"], o["order_id"], o["net"], o["fee"]) for o in orders if o["shipped"][:7] == month]
    backs = [
        ("return", o["returned"], o["order_id"], -o["net"], -o["fee"])
        for o in orders
        if o["returned"][:7] == month
        and (date.fromisoformat(o["returned"]) - date.fromisoformat(o["shipped"])).days <= limit
    ]
    return sorted(ships) + sorted(backs)


def settled(folder: Path, month: str) -> int:
    """What the settlements of a month came to."""
    total = 0
    for path in folder.glob(f"settlement-{month}-??.csv"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("#TOTAL;"):
                total += amount(line.split(";")[2])
    return total


def carried(folder: Path, month: str) -> int:
    """What the statement of the month before has left open."""
    path = folder / f"statement-{month_before(month)}.csv"
    if not path.exists():
        return 0
    text = path.read_text(encoding="utf-8").splitlines()
    return next(amount(line.split(";")[1]) for line in text if line.startswith("#OPEN;"))


def amount(text: str) -> int:
    """Cents of an amount of ours, which may be negative."""
    return -money.parse(text[1:]) if text.startswith("-") else money.parse(text)


def month_before(month: str) -> str:
    """The month before one."""
    year, number = int(month[:4]), int(month[5:])
    return f"{year - 1}-12" if number == 1 else f"{year}-{number - 1:02d}"


def write(conn: sqlite3.Connection, terms: dict[str, str], month: str) -> int:
    """Write the statement of one partner, and its line in the manifest; returns the pay-out."""
    partner = terms["partner"]
    folder = config.root() / "out/partners" / partner
    rows = lines(moves(conn, partner), month, int(terms["return_days"]))
    base, commission = sum(row[3] for row in rows), sum(row[4] for row in rows)
    bonus = 0
    if terms["bonus_above"] and base > money.parse(terms["bonus_above"]):
        above = base - money.parse(terms["bonus_above"])
        bonus = money.divide(above * money.parse(terms["bonus_rate"]), 10_000)
    paid, open_before = settled(folder, month), carried(folder, month)
    balance = commission + bonus - paid + open_before
    payout = balance if balance >= money.parse(terms["least_payout"]) else 0
    text = [HEADER]
    text += [f"{kind};{order};{day};{money.show(net)};{money.show(fee)}" for kind, day, order, net, fee in rows]
    for name, value in (
        ("BASE", base),
        ("COMMISSION", commission),
        ("BONUS", bonus),
        ("SETTLED", paid),
        ("CARRIED", open_before),
        ("PAYOUT", payout),
        ("OPEN", balance - payout),
    ):
        text.append(f"#{name};{money.show(value)}")
    name = f"statement-{month}.csv"
    put(folder / name, "\n".join(text) + "\n")
    manifest = folder / "MANIFEST"
    known = manifest.read_text(encoding="utf-8").splitlines() if manifest.exists() else []
    content = (folder / name).read_bytes()
    line = f"{name} {hashlib.sha256(content).hexdigest()} {len(content)}"
    if line not in known:
        known = [*(one for one in known if one.split(" ")[0] != name), line]
        put(manifest, "\n".join(known) + "\n")
    return payout


def write_all(conn: sqlite3.Connection, month: str) -> None:
    """Write all statements of a month, and the list of payments."""
    last = f"{month}-{calendar.monthrange(int(month[:4]), int(month[5:]))[1]}"
    contracts = {row["partner"]: row for row in config.table("contracts.csv")}
    paid = ["partner;iban;amount"]
    for partner in config.partners():
        payout = write(conn, contracts[partner], month)
        if payout:
            paid.append(f"{partner};{config.partner_terms(partner, last)['iban']};{money.show(payout)}")
        print(f"{partner}: {money.show(payout)}")
    put(config.root() / f"out/payments/statements-{month}.csv", "\n".join(paid) + "\n")
PY
