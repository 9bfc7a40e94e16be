set -euo pipefail
mkdir -p reports
cat > reports/double_charges.py <<'PY'
"""Who was charged twice on 2024-03-19, and what is still owed. Run it in the ledger's folder."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path

from ledger import config, ids

FOLDER = Path("incidents/2024-03-19")
REPORT = Path("reports/double-charges-2024-03-19.json")
LINE = re.compile(
    r"(?P<end>\S+) (?P<request>req_\w+) try=\d+ POST /v1/transfers payer=(?P<payer>\S+)"
    r" payee=(?P<payee>\S+) amount=(?P<amount>\d+) ref=(?P<ref>\S+) -> .* \((?P<took>\d+) ms\)"
)
LATEST = timedelta(seconds=30)
"""How long after the beginning of an attempt it may be booked."""
SLACK = timedelta(milliseconds=5)
SUMS = ("surplus", "returned", "outstanding")


def attempts() -> dict[str, list[dict]]:
    """The attempts of each request, oldest first."""
    found: dict[str, list[dict]] = defaultdict(list)
    for name in ("gateway.log.1", "gateway.log"):
        for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
            match = LINE.fullmatch(line)
            assert match, line
            one = match.groupdict()
            end = datetime.fromisoformat(one["end"])
            one["begin"] = end - timedelta(milliseconds=int(one["took"]))
            found[one["request"]].append(one)
    return dict(sorted(found.items(), key=lambda item: item[1][0]["begin"]))


def bookings(conn: sqlite3.Connection, tries: list[dict]) -> list[sqlite3.Row]:
    """The transfers that the attempts of one request have made."""
    first = tries[0]
    rows = conn.execute(
        "SELECT * FROM transfers WHERE created_by = 'tok_checkout' AND kind = 'payment'"
        " AND from_account = ? AND to_account = ? AND amount = ? AND reference = ?"
        " ORDER BY created_at",
        (first["payer"], first["payee"], int(first["amount"]), first["ref"]),
    )
    spans = [(ids.stamp(t["begin"] - SLACK), ids.stamp(t["begin"] + LATEST)) for t in tries]
    return [row for row in rows if any(a <= row["created_at"] <= b for a, b in spans)]


def given_back(conn: sqlite3.Connection, made: list[sqlite3.Row]) -> int:
    """What came back for a request: reversals of its bookings, and payments by hand that stand."""
    marks = ", ".join("?" for _ in made)
    reversed_ = conn.execute(
        f"SELECT COALESCE(SUM(amount), 0) FROM transfers WHERE reversal_of IN ({marks})",
        [row["id"] for row in made],
    ).fetchone()[0]
    by_hand = conn.execute(
        "SELECT COALESCE(SUM(amount), 0) FROM transfers WHERE kind = 'payment'"
        " AND status = 'posted' AND to_account = ? AND reference = ?",
        (made[0]["from_account"], f"DC-{made[0]['reference']}"),
    ).fetchone()[0]
    return reversed_ + by_hand


def charged_twice(conn: sqlite3.Connection) -> list[dict]:
    """The requests that were booked more than once."""
    found = []
    for request, tries in attempts().items():
        made = bookings(conn, tries)
        if len(made) < 2:
            continue
        surplus = made[0]["amount"] * (len(made) - 1)
        returned = min(given_back(conn, made), surplus)
        found.append(
            {
                "request": request,
                "payer": made[0]["from_account"],
                "payee": made[0]["to_account"],
                "reference": made[0]["reference"],
                "amount": made[0]["amount"],
                "currency": made[0]["currency"],
                "transfers": [row["id"] for row in made],
                "surplus": surplus,
                "returned": returned,
                "outstanding": surplus - returned,
            }
        )
    return found


def main() -> None:
    """Write the report."""
    path = config.load().database
    conn = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    conn.row_factory = sqlite3.Row
    requests = charged_twice(conn)
    accounts: dict[str, dict] = {}
    totals: dict[str, dict] = {}
    for one in requests:
        empty = dict.fromkeys(SUMS, 0)
        named = {"account": one["payer"], "currency": one["currency"]}
        for sums in (
            accounts.setdefault(one["payer"], {**named, **empty}),
            totals.setdefault(one["currency"], dict(empty)),
        ):
            for name in SUMS:
                sums[name] += one[name]
    by_account = [accounts[name] for name in sorted(accounts)]
    report = {"requests": requests, "accounts": by_account, "totals": totals}
    REPORT.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(len(requests), "requests,", totals)


if __name__ == "__main__":
    main()
PY
PYTHONPATH=. python3 reports/double_charges.py
