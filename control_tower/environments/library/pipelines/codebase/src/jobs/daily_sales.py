"""Write the sales of the day. docs/sales.md."""

from collections import defaultdict

from batchlib import config, mart, money


def main() -> None:
    """Write out/sales/sales-DATE.csv."""
    conn, night = mart.connect(), config.night()
    sums = defaultdict(lambda: [0, 0, 0])
    for order in conn.execute("SELECT * FROM orders WHERE day = ? AND status = 'new'", (night,)):
        one = sums[order["shop"], order["country"]]
        one[0] += 1
        one[1] += order["gross"]
        one[2] += money.net_of(order["gross"], order["country"])
    folder = config.root() / "out/sales"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["shop;country;orders;gross;net"]
    for (shop, country), (count, gross, net) in sorted(sums.items()):
        lines.append(f"{shop};{country};{count};{money.show(gross)};{money.show(net)}")
    (folder / f"sales-{night}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / f"late-{night}.csv").write_text("order_id;day;before;after\n", encoding="utf-8")
    print(f"{night}: {sum(one[0] for one in sums.values())} orders")


main()
