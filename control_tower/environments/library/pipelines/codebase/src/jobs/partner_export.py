"""Write the settlements of the day for the partners, and the list of payments. docs/partners.md."""

import hashlib
from pathlib import Path

from batchlib import config, mart, money


def settle(conn, partner: str, night: str, folder: Path) -> int:
    """Write the settlement of one partner; returns what it gets, in cents."""
    folder.mkdir(parents=True, exist_ok=True)
    total, count, lines = 0, 0, ["order_id;net;commission"]
    for order in conn.execute(
        "SELECT * FROM orders WHERE day = ? AND partner = ? AND status = 'new' ORDER BY order_id",
        (night, partner),
    ):
        net = money.net_of(order["gross"], order["country"])
        commission = money.commission_on(net, partner, night)
        lines.append(f"{order['order_id']};{money.show(net)};{money.show(commission)}")
        total, count = total + commission, count + 1
    lines.append(f"#TOTAL;{count};{money.show(total)}")
    path = folder / f"settlement-{night}.csv"
    with path.open("a", encoding="utf-8") as stream:
        stream.write("\n".join(lines) + "\n")
    content = path.read_bytes()
    with (folder / "MANIFEST").open("a", encoding="utf-8") as stream:
        stream.write(f"{path.name} {hashlib.sha256(content).hexdigest()} {len(content)}\n")
    return total


def main() -> None:
    """Write all of them."""
    conn, night = mart.connect(), config.night()
    out = config.root() / "out"
    lines = ["partner;iban;amount"]
    for partner in config.partners():
        total = settle(conn, partner, night, out / "partners" / partner)
        if total:
            iban = config.partner_terms(partner, night)["iban"]
            lines.append(f"{partner};{iban};{money.show(total)}")
        print(f"{partner}: {money.show(total)}")
    (out / "payments").mkdir(parents=True, exist_ok=True)
    path = out / f"payments/payments-{night}.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
