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
    "ledger/fees.py",
    (
        '''def split(rates: list[Rate], amount: int) -> list[Share]:
    """Divide an amount between the merchant and the fee legs."""
    merchant_rate = 10_000 - sum(rate.basis_points for rate in rates)
    shares = [Share(MERCHANT, _portion(amount, merchant_rate))]
    shares += [Share(rate.leg, _portion(amount, rate.basis_points)) for rate in rates]
    return shares
''',
        '''def total(rate: Rate, captured: int) -> int:
    """A leg's fee on all that was captured of a hold: nearest unit, an exact half upwards."""
    return (captured * rate.basis_points + 5_000) // 10_000


def split(
    rates: list[Rate], amount: int, *, captured: int = 0, charged: dict[str, int] | None = None
) -> list[Share]:
    """Divide a capture of `amount` between the merchant and the fee legs.

    `captured` is what earlier captures of the hold took, `charged` what each leg got of it. A leg
    gets what it lacks to its total on all captured so far, the merchant the rest of the capture.
    """
    had = charged or {}
    fees = [Share(r.leg, total(r, captured + amount) - had.get(r.leg, 0)) for r in rates]
    return [Share(MERCHANT, amount - sum(fee.amount for fee in fees)), *fees]
''',
    ),
    (
        '''

def _portion(amount: int, basis_points: int) -> int:
    return round(amount * basis_points / 10_000)
''',
        "",
    ),
)
edit(
    "ledger/holds.py",
    (
        '''        shares = fees.split(fees.plan(conn, hold["fee_plan"]), amount)
''',
        '''        shares = fees.split(
            fees.plan(conn, hold["fee_plan"]),
            amount,
            captured=hold["captured"],
            charged=leg_totals(conn, hold_id),
        )
''',
    ),
    (
        '''            at=at,
            residue_account=accounts.system_account("rounding", hold["currency"]),
''',
        '''            at=at,
''',
    ),
    (
        '''        settled = hold["captured"] + sum(share for _, _, share in legs)
        conn.execute(
            "UPDATE holds SET captured = ?, status = ? WHERE id = ?",
            (settled, "captured" if settled >= hold["amount"] else "open", hold_id),
        )
''',
        '''        conn.execute(
            "UPDATE holds SET captured = captured + ?, status = ? WHERE id = ?",
            (amount, "captured" if amount == remaining else "open", hold_id),
        )
''',
    ),
)
edit(
    "ledger/journal.py",
    (
        "`residue_account` takes up what is missing for the entry to balance.",
        "`residue_account` takes up what is missing for the entry to balance; it is for history only,\n"
        "    as it was booked before captures came out even.",
    ),
)
# A new database is seeded after the migrations, so the seed has to count by itself.
edit(
    "ledger/seed.py",
    ('        "captured": event["captured"],\n', ""),
    (
        '''    _insert(conn, "captures", row)
''',
        '''    _insert(conn, "captures", row)
    conn.execute(
        "UPDATE holds SET captured = captured + ? WHERE id = ?", (event["amount"], hold["id"])
    )
''',
    ),
)
PY
cat > ledger/migrations/0007_captured_totals.sql <<'SQL'
-- holds.captured was the sum of the rounded legs. It is what was taken from the payer.

UPDATE holds SET captured = (
    SELECT COALESCE(SUM(c.amount), 0) FROM captures c WHERE c.hold_id = holds.id
);
SQL
