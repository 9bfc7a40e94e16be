set -euo pipefail
cat > edit.py <<'PY'
from pathlib import Path


def edit(path, *changes):
    source = Path(path).read_text(encoding="utf-8")
    for old, new in changes:
        assert source.count(old) == 1, (path, old)
        source = source.replace(old, new)
    Path(path).write_text(source, encoding="utf-8")
PY
python3 - <<'PY'
from edit import edit

edit(
    "shop/pricing.py",
    (
        '''    vat_basis_points: int

    @property
    def gross_cents(self) -> int:
        """What the line costs."""
''',
        '''    vat_basis_points: int
    discount_cents: int = 0
    """Its share of what a voucher takes off."""

    @property
    def gross_cents(self) -> int:
        """What the line costs, without a discount."""
''',
    ),
    ("        return money.vat_in(self.gross_cents, self", "        return money.vat_in(self.gross_cents - self.discount_cents, self"),
    ('''        """The VAT in it."""''', '''        """The VAT in what is paid for it."""'''),
    (
        '''    shipping_cents: int

    @property
    def total_cents(self) -> int:
        """What the card is charged."""
        return self.goods_cents + self.shipping_cents
''',
        '''    shipping_cents: int
    discount_cents: int = 0
    voucher_code: str | None = None

    @property
    def total_cents(self) -> int:
        """What the card is charged."""
        return self.goods_cents + self.shipping_cents - self.discount_cents
''',
    ),
)
edit(
    "shop/orders.py",
    ("stock\nfrom .config", "stock, vouchers\nfrom .config"),
    (
        '''    """Turn the basket of a session into a paid order; returns its number. Raises Refused."""
''',
        '''    """Turn the basket of a session into a paid order; returns its number. Raises Refused.

    All of it is one transaction if there is a voucher: its row is locked until the use is written.
    """
    code = vouchers.on_basket(conn, session_id)
    if not code:
        return _place(conn, config, session_id, customer_id, card, "")
    with db.transaction(conn):
        return _place(conn, config, session_id, customer_id, card, code)


def _place(
    conn: Any, config: Config, session_id: str, customer_id: int, card: dict, code: str
) -> str:
''',
    ),
    (
        '''    number = new_number(conn)
    try:
''',
        '''    if code:
        try:
            voucher = vouchers.check(conn, quote, code, customer_id, lock=True)
        except vouchers.Refused as error:
            raise Refused(error.code, str(error)) from None
        quote = vouchers.reduced(config, quote, voucher)
    number = new_number(conn)
    try:
''',
    ),
    (
        '''    with db.transaction(conn):
        insert(conn, number, customer, quote)
''',
        '''    with nullcontext() if code else db.transaction(conn):
        insert(conn, number, customer, quote)
        if code:
            db.run(
                conn,
                "INSERT INTO voucher_uses (code, number, customer_id, discount_cents)"
                " VALUES (%s, %s, %s, %s)",
                (code, number, customer_id, quote.discount_cents),
            )
            vouchers.put(conn, session_id, "")
''',
    ),
    ("from typing import Any\n", "from contextlib import nullcontext\nfrom typing import Any\n"),
    (
        '''        " ship_name, ship_address) VALUES (%s, %s, 'paid', %s, %s, %s, %s, %s)",
''',
        '''        " discount_cents, voucher_code, ship_name, ship_address)"
        " VALUES (%s, %s, 'paid', %s, %s, %s, %s, %s, %s, %s)",
''',
    ),
    (
        '''            quote.total_cents,
            customer["name"],
''',
        '''            quote.total_cents,
            quote.discount_cents,
            quote.voucher_code,
            customer["name"],
''',
    ),
    (
        '''            " vat_basis_points, vat_cents, priced_at)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
''',
        '''            " vat_basis_points, vat_cents, priced_at, discount_cents)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
''',
    ),
    (
        '''                line.priced_at,
''',
        '''                line.priced_at,
                line.discount_cents,
''',
    ),
    (
        '''    db.run(conn, "UPDATE orders SET status = 'cancelled' WHERE number = %s", (number,))
''',
        '''    db.run(conn, "UPDATE orders SET status = 'cancelled' WHERE number = %s", (number,))
    db.run(conn, "DELETE FROM voucher_uses WHERE number = %s", (number,))
''',
    ),
)
edit(
    "shop/sessions.py",
    (
        '''    db.run(conn, "DELETE FROM sessions WHERE id = %s", (session.id,))
    return fresh
''',
        '''    db.run(
        conn,
        "UPDATE sessions SET voucher_code = (SELECT voucher_code FROM sessions WHERE id = %s)"
        " WHERE id = %s",
        (session.id, fresh.id),
    )
    db.run(conn, "DELETE FROM sessions WHERE id = %s", (session.id,))
    return fresh
''',
    ),
    ("the basket comes along", "basket and voucher come along"),
)
edit(
    "shop/export.py",
    ("l.quantity, l.gross_cents,\"", "l.quantity, l.gross_cents - l.discount_cents AS gross_cents,\""),
)
PY
