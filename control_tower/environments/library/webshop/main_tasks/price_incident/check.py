# ruff: noqa: F821  (names come from the preludes)
"""The report on the price incident against the incident as it was seeded."""

REPORT = "reports/price-incident-2024-06-11.json"
LARGEST_REPORT = 1_000_000
SUMS = ("goods", "shipping", "returned", "outstanding")

# Orders that were charged too much: number, e-mail, goods, shipping, returned, outstanding.
OWED = """
W100115 jonas.jost@example.test 1500 0 0 1500
W100117 wanda.quint@example.test 1020 0 0 1020
W100118 wanda.birke@example.test 1020 0 1020 0
W100120 carla.jost@example.test 510 0 255 255
W100121 falk.weber@example.test 4350 0 0 4350
W100122 yusuf.abend@example.test 0 490 245 245
W100126 zora.nagel@example.test 1000 0 0 1000
W100127 zora.ober@example.test 800 0 0 800
W100130 carla.jost@example.test 1450 0 0 1450
W100131 wanda.birke@example.test 1500 0 0 1500
W100132 dario.pohl@example.test 800 0 0 800
W100136 quirin.pohl@example.test 0 490 0 490
W100137 wanda.birke@example.test 800 0 0 800
W100138 viktor.moser@example.test 300 0 0 300
W100141 greta.zorn@example.test 2000 0 0 2000
W100142 henrik.zorn@example.test 800 0 0 800
W100146 jonas.jost@example.test 1000 0 0 1000
W100147 rosa.vogt@example.test 500 0 0 500
W100156 wanda.kranz@example.test 500 0 0 500
W100159 wanda.rabe@example.test 500 0 0 500
W100165 wanda.castell@example.test 500 0 0 500
W100170 falk.gruber@example.test 1000 0 0 1000
W100184 lorenz.sommer@example.test 1500 0 0 1500
W100228 quirin.fink@example.test 700 0 0 700
W100229 henrik.zorn@example.test 1000 0 0 1000
W100231 dario.pohl@example.test 1000 0 0 1000
W100232 jonas.lauber@example.test 4120 0 0 4120
W100233 falk.weber@example.test 500 0 0 500
W100234 wanda.rabe@example.test 2520 0 2520 0
W100235 jonas.halm@example.test 1500 0 0 1500
W100237 jonas.lauber@example.test 500 0 500 0
W100238 rosa.weber@example.test 1600 0 0 1600
W100239 viktor.abend@example.test 1000 0 0 1000
W100241 paul.dorn@example.test 510 0 0 510
W100242 zora.birke@example.test 1500 0 0 1500
W100244 nils.lauber@example.test 0 490 0 490
W100245 quirin.lauber@example.test 500 0 0 500
W100246 nils.lauber@example.test 500 0 500 0
W100247 xenia.zorn@example.test 900 0 0 900
W100248 jonas.halm@example.test 500 0 166 334
W100249 edda.jost@example.test 1100 0 0 1100
W100252 demo@example.test 1600 0 0 1600
W100253 lorenz.ebner@example.test 0 490 0 490
W100254 rosa.ebner@example.test 500 0 0 500
"""

# What the seeded tables hold, as one hash of each.
UNTOUCHED = {
    "orders": (
        "SELECT md5(string_agg(concat_ws('|', number, customer_id, status, goods_cents, shipping_cents,"
        " total_cents, extract(epoch FROM placed_at)::bigint), ',' ORDER BY number))"
        " FROM orders WHERE number < 'W120000'",
        "1bd3b8a95d83fff2d8ba0c5e7a6e1d5f",
    ),
    "order_lines": (
        "SELECT md5(string_agg(concat_ws('|', number, line, sku, quantity, unit_cents,"
        " extract(epoch FROM priced_at)::bigint), ',' ORDER BY number, line))"
        " FROM order_lines WHERE number < 'W120000'",
        "a261104f3ef8fa0b9fe14e8d34c902ea",
    ),
    "refunds": (
        "SELECT md5(string_agg(concat_ws('|', id, number, amount_cents, reason, note, status, staff),"
        " ',' ORDER BY id)) FROM refunds WHERE number < 'W120000'",
        "5fdf30aef1bbb1c922e766bf3a730ce6",
    ),
    "payments": (
        "SELECT md5(string_agg(concat_ws('|', id, number, kind, psp_id, amount_cents), ',' ORDER BY id))"
        " FROM payments WHERE number < 'W120000'",
        "5b6a8dc777c24ba89fc1e3c6124aac5b",
    ),
    "price_changes": (
        "SELECT md5(string_agg(concat_ws('|', id, sku, price_cents, source, run,"
        " extract(epoch FROM valid_from)::bigint), ',' ORDER BY id))"
        " FROM price_changes WHERE sku NOT LIKE 'CHK-%'",
        "67094a13c2565c197606ebc86fde1fb8",
    ),
}


def wanted() -> dict:
    """The report as it must be."""
    orders, customers = [], {}
    total = dict.fromkeys(("orders", *SUMS), 0)
    for line in OWED.split("\n"):
        if not line:
            continue
        number, email, *sums = line.split()
        row = {"number": number, "email": email, **dict(zip(SUMS, map(int, sums)))}
        orders.append(row)
        empty = {"email": email, **dict.fromkeys(("orders", *SUMS), 0)}
        for place in (customers.setdefault(email, empty), total):
            place["orders"] += 1
            for name in SUMS:
                place[name] += row[name]
    orders.sort(key=lambda row: row["number"])
    return {
        "orders": orders,
        "customers": [customers[email] for email in sorted(customers)],
        "total": total,
    }


def written() -> dict:
    """The report that is there."""
    data = read_file(REPORT, LARGEST_REPORT)
    expect(data is not None, f"{REPORT}: expected a JSON report, saw none")
    try:
        report = json.loads(data)
    except (ValueError, RecursionError):
        raise Wrong(f"{REPORT}: expected JSON") from None
    expect(isinstance(report, dict), f"{REPORT}: expected an object")
    return report


def listed(report: dict, field: str, key: str, want: list) -> None:
    """A list of the report must be ours, entry by entry."""
    rows = report.get(field)
    usable = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    expect(usable, f"{field}: expected a list of objects")
    ours, theirs = [row[key] for row in want], [row.get(key) for row in rows]
    many = [name for name in theirs if name not in ours]
    few = [name for name in ours if name not in theirs]
    expect(
        not many and not few,
        f"{field}: {len(many)} too many {many[:1]}, {len(few)} missing {few[:1]}",
    )
    expect(theirs == ours, f"{field}: expected {len(ours)} of them in order, each once")
    for our, their in zip(want, rows):
        for name in {**our, **their}:
            same(f"{field}, {our[key]}: {name}", their.get(name), our.get(name))


def only_read() -> None:
    """What was seeded is as it was."""
    base = Database()
    for table, (query, known) in UNTOUCHED.items():
        expect(base.value(query) == known, f"table {table}: expected to be only read, it was changed")
    base.close()
    good("verify-audit")


def check() -> str:
    """All of the ticket."""
    want, report = wanted(), written()
    listed(report, "orders", "number", want["orders"])
    listed(report, "customers", "email", want["customers"])
    same("total", report.get("total"), want["total"])
    same("fields of the report", sorted(report), sorted(want))
    ensure_running()
    only_read()
    return f"{len(want['orders'])} orders, the sums by customer and the total are right"


decide(check)
