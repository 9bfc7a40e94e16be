set -euo pipefail
mkdir -p reports
cat > reports/settlements.py <<'PY'
"""What was paid to the partners in March 2024, and what was due. Run it in the folder of the batch, with PYTHONPATH=."""

import csv
import json
from collections import defaultdict
from pathlib import Path

from batchlib import money, orderfiles

ROOT = Path("var")
DAYS = [f"2024-03-{day:02d}" for day in range(1, 22)]
CONTRACTS = {
    "harbour": (("2023-01-01", 650), ("2024-03-10", 680)),
    "lantern": (("2023-01-01", 400),),
    "quayside": (("2023-01-01", 525),),
}


def rate_of(partner, day):
    return [rate for since, rate in CONTRACTS[partner] if since <= day][-1]


collected = {}
for line in (ROOT / "state/collected.tsv").read_text().splitlines():
    night, kind, name, _ = line.split("\t")
    if kind == "orders":
        collected[name] = night

due_orders = defaultdict(dict)  # by day
for name in sorted(collected, key=lambda n: (n.split("-")[1], int(n.split("-")[2][:-4]))):
    date = name.split("-")[1]
    day = f"{date[:4]}-{date[4:6]}-{date[6:]}"
    found = orderfiles.read(ROOT / "archive/orders" / name)
    for row in found.rows:
        if row["placed_at"][:10] == day:  # none was placed in the hour before midnight
            due_orders[day][row["order_id"]] = (row, name)

paid, payments = defaultdict(int), defaultdict(int)
for line in (ROOT / "log/bank.log").read_text().splitlines():
    _, name, partner, amount, result, *_ = line.split(" ")
    if result == "accepted":
        paid[partner, name[9:19]] += money.parse(amount)
        payments[partner, name[9:19]] += 1

settlements, missing = [], []
sums = {partner: {"paid": 0, "due": 0, "difference": 0} for partner in CONTRACTS}
for day in DAYS:
    for partner in sorted(CONTRACTS):
        with (ROOT / "out/partners" / partner / f"settlement-{day}.csv").open() as stream:
            settled = {row[0]: row for row in csv.reader(stream, delimiter=";") if row[0][0] != "#" and row[0] != "order_id"}
        due, causes = 0, set()
        if payments[partner, day] > 1:
            causes.add("paid_twice")
        for number, (row, name) in sorted(due_orders[day].items()):
            if row["partner"] != partner or row["status"] != "new":
                continue
            net = money.net_of(row["gross"], row["country"])
            commission = money.divide(net * rate_of(partner, day), 10_000)
            due += commission
            if number not in settled:
                missing.append(number)
                causes.add("late_file" if name.endswith("-1.csv") else "incomplete_file")
            elif money.parse(settled[number][2]) != commission:
                causes.add("wrong_rate")
        one = {"paid": paid[partner, day], "due": due, "difference": paid[partner, day] - due}
        for name, value in one.items():
            sums[partner][name] += value
        if one["difference"]:
            settlements.append({"partner": partner, "day": day, **one, "causes": sorted(causes)})
        else:
            assert not causes, (partner, day, causes)
report = {"settlements": settlements, "missing_orders": sorted(missing), "partners": sums}
Path("reports/settlements-2024-03.json").write_text(json.dumps(report, indent=1) + "\n")
for one in settlements:
    print(*one.values())
print(missing, sums)
PY
PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1 python3 reports/settlements.py
