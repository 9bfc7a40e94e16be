set -euo pipefail
python3 - <<'PY'
from pathlib import Path


def edit(path, *changes):
    source = Path(path).read_text(encoding="utf-8")
    for old, new in changes:
        assert source.count(old) == 1, (path, old)
        source = source.replace(old, new)
    Path(path).write_text(source, encoding="utf-8")


edit(
    "shop/stock.py",
    (
        '''def on_hand(conn: Any, sku: str) -> int:
    """How many pieces there are."""
    found = db.one(conn, "SELECT on_hand FROM products WHERE sku = %s", (sku,))
    return found["on_hand"] if found else 0


''',
        '''class SoldOut(Exception):
    """There are fewer pieces than are to go out; the text is the article's number."""


''',
    ),
    (
        '''    """Pieces come in, or go out if `quantity` is negative."""
    left = on_hand(conn, sku) + quantity
    db.run(conn, "UPDATE products SET on_hand = %s WHERE sku = %s", (left, sku))
''',
        '''    """Pieces come in, or go out if `quantity` is negative; in the caller's transaction.

    The article's row is locked until that ends, so whoever moves several goes in the order of their
    numbers. Raises SoldOut if there are not enough.
    """
    moved = db.run(
        conn,
        "UPDATE products SET on_hand = on_hand + %s WHERE sku = %s AND (%s > 0 OR on_hand >= -%s)",
        (quantity, sku, quantity, quantity),
    )
    if not moved:
        raise SoldOut(sku)
''',
    ),
    (
        '''def differences(''',
        '''def undo(conn: Any, number: str) -> None:
    """Take back all moves of an order that did not come about, as if they had never been."""
    gone = db.rows(
        conn, "DELETE FROM stock_moves WHERE number = %s RETURNING sku, quantity", (number,)
    )
    for move_ in sorted(gone, key=lambda row: row["sku"]):
        db.run(
            conn,
            "UPDATE products SET on_hand = on_hand - %s WHERE sku = %s",
            (move_["quantity"], move_["sku"]),
        )


def differences(''',
    ),
)
edit(
    "shop/basket.py",
    (
        '''def clear(conn: Any, session_id: str) -> None:
    """Empty the basket."""
    db.run(conn, "DELETE FROM basket_lines WHERE session_id = %s", (session_id,))
''',
        '''def lock(conn: Any, session_id: str) -> None:
    """Let nobody else take this basket until the transaction ends."""
    db.run(conn, "SELECT 1 FROM sessions WHERE id = %s FOR UPDATE", (session_id,))


def clear(conn: Any, session_id: str) -> None:
    """Empty the basket."""
    db.run(conn, "DELETE FROM basket_lines WHERE session_id = %s", (session_id,))


def put_back(conn: Any, session_id: str, taken: list[db.Row]) -> None:
    """What was taken out goes back in, with its prices."""
    if not db.one(conn, "SELECT 1 FROM sessions WHERE id = %s FOR UPDATE", (session_id,)):
        return
    for row in taken:
        db.run(
            conn,
            "INSERT INTO basket_lines (session_id, sku, quantity, unit_cents, priced_at)"
            " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (session_id, sku) DO UPDATE SET"
            " quantity = LEAST(basket_lines.quantity + excluded.quantity, %s)",
            (session_id, row["sku"], row["quantity"], row["unit_cents"], row["priced_at"], MOST),
        )
''',
    ),
)
path = Path("shop/orders.py")
source = path.read_text(encoding="utf-8")
begin = source.index("    quote = pricing.quote(conn, config, basket.lines(")
end = source.index("def new_number(")
source = (
    source[:begin]
    + '''    number = new_number(conn)
    taken, quote = _take(conn, config, session_id, number)
    try:
        charge_id = psp.charge(config, number, quote.total_cents, card)
    except BaseException as error:
        with db.transaction(conn):
            stock.undo(conn, number)
            basket.put_back(conn, session_id, taken)
        if isinstance(error, psp.Declined):
            raise Refused("declined", "your card was declined") from None
        raise
    with db.transaction(conn):
        insert(conn, number, customer, quote)
        db.run(
            conn,
            "INSERT INTO payments (number, kind, psp_id, amount_cents, card_last4)"
            " VALUES (%s, 'charge', %s, %s, %s)",
            (number, charge_id, quote.total_cents, card["number"][-4:]),
        )
    return number


def _take(
    conn: Any, config: Config, session_id: str, number: str
) -> tuple[list[db.Row], pricing.Quote]:
    """Take the basket, and its pieces out of the stock, before the card is charged.

    It is a short transaction of its own: nobody waits while the provider is asked. Raises Refused.
    """
    with db.transaction(conn):
        basket.lock(conn, session_id)
        taken = basket.lines(conn, config, session_id)
        quote = pricing.quote(conn, config, taken)
        if not quote.lines:
            raise Refused("empty", "your basket is empty")
        for line in quote.lines:
            try:
                stock.move(conn, line.sku, -line.quantity, "sale", number)
            except stock.SoldOut:
                raise Refused("sold_out", f"{line.name} is sold out") from None
        basket.clear(conn, session_id)
    return taken, quote


'''
    + source[end:]
)
path.write_text(source, encoding="utf-8")
edit(
    "shop/orders.py",
    (
        '''    order = get(conn, number)
    if order is None or order["status"] != "paid":
        raise Refused("not_open", "this order cannot be cancelled")
    for line in order["lines"]:
        stock.move(conn, line["sku"], line["quantity"], "cancelled", number)
    pay_back(conn, config, number, order["total_cents"] - order["refunded_cents"])
    db.run(conn, "UPDATE orders SET status = 'cancelled' WHERE number = %s", (number,))
''',
        '''    with db.transaction(conn):
        lock(conn, number)
        order = get(conn, number)
        if order is None or order["status"] != "paid":
            raise Refused("not_open", "this order cannot be cancelled")
        db.run(conn, "UPDATE orders SET status = 'cancelled' WHERE number = %s", (number,))
        # The stock comes last: nobody who buys the same articles waits for the provider.
        pay_back(conn, config, number, order["total_cents"] - order["refunded_cents"])
        for line in sorted(order["lines"], key=lambda line: line["sku"]):
            stock.move(conn, line["sku"], line["quantity"], "cancelled", number)


def lock(conn: Any, number: str) -> None:
    """Let nobody else pay back or cancel the order until the transaction ends."""
    db.run(conn, "SELECT 1 FROM orders WHERE number = %s FOR UPDATE", (number,))
''',
    ),
)
edit(
    "shop/refunds.py",
    (
        '''    order = orders.get(conn, number)
    if order is None or order["status"] != "paid":
        raise Refused("no such order, or it was cancelled")
    if not 0 < amount <= order["total_cents"] - order["refunded_cents"]:
        raise Refused("more than was paid")
    with db.transaction(conn):
''',
        '''    with db.transaction(conn):
        orders.lock(conn, number)
        order = orders.get(conn, number)
        if order is None or order["status"] != "paid":
            raise Refused("no such order, or it was cancelled")
        if not 0 < amount <= order["total_cents"] - order["refunded_cents"]:
            raise Refused("more than was paid")
''',
    ),
)
PY
cat > migrations/0009_stock_from_journal.sql <<'SQL'
-- Checkouts at the same time lost each other's pieces. The journal has them all.
UPDATE products p SET on_hand = j.pieces
FROM (SELECT sku, SUM(quantity)::integer AS pieces FROM stock_moves GROUP BY sku) j
WHERE j.sku = p.sku AND p.on_hand <> j.pieces;
SQL
