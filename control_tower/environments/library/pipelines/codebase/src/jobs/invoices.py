"""Write invoices for what was shipped on the day. docs/invoices.md."""

from batchlib import config, mart, money


def main() -> None:
    """Write out/invoices/invoices-DATE.csv."""
    conn, night = mart.connect(), config.night()
    counter = config.root() / "state/invoice.seq"
    counter.parent.mkdir(parents=True, exist_ok=True)
    number = int(counter.read_text(encoding="utf-8")) if counter.exists() else 10_000
    lines = ["number;order_id;net;vat;gross"]
    shipped = conn.execute(
        "SELECT DISTINCT o.* FROM orders o JOIN shipments s ON s.order_id = o.order_id"
        " WHERE s.kind = 'out' AND substr(s.at, 1, 10) <= ? AND o.status = 'new'"
        " AND o.order_id NOT IN (SELECT order_id FROM invoices) ORDER BY o.order_id",
        (night,),
    ).fetchall()
    for order in shipped:
        number += 1
        counter.write_text(f"{number}\n", encoding="utf-8")
        net = money.net_of(order["gross"], order["country"])
        vat = order["gross"] - net
        conn.execute(
            "INSERT INTO invoices VALUES (?, ?, ?, ?, ?, ?)",
            (number, order["order_id"], night, net, vat, order["gross"]),
        )
        amounts = ";".join(money.show(cents) for cents in (net, vat, order["gross"]))
        lines.append(f"{number};{order['order_id']};{amounts}")
    folder = config.root() / "out/invoices"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"invoices-{night}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{night}: {len(shipped)} invoices")


main()
