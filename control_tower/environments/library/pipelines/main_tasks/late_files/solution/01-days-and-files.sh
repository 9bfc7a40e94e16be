set -euo pipefail
# Local days by the zone's own rules; the latest file decides; what a night has changed is kept.
cat > batchlib/sales.py <<'PY'
"""Which sales files a night writes. docs/sales.md.

    python3 -m batchlib.sales       prints the months whose files the night writes
"""

from __future__ import annotations

import sqlite3
from datetime import date

from batchlib import config, mart


def is_closed(day: str, night: str) -> bool:
    """Whether the month of a day is closed in a night: from the 4th of the next month on."""
    one = date.fromisoformat(day)
    following = date(one.year + one.month // 12, one.month % 12 + 1, 4)
    return date.fromisoformat(night) >= following


def days_to_write(conn: sqlite3.Connection, night: str) -> list[str]:
    """The night's own day, and the earlier ones that it has changed while their months are open."""
    rows = conn.execute("SELECT DISTINCT day FROM changes WHERE night = ? AND day < ?", (night, night))
    return sorted({night, *(row["day"] for row in rows if not is_closed(row["day"], night))})


def late_changes(conn: sqlite3.Connection, night: str) -> list[sqlite3.Row]:
    """What the night has changed in closed months, by order."""
    rows = conn.execute(
        'SELECT * FROM changes WHERE night = ? AND "before" <> "after" ORDER BY order_id', (night,)
    )
    return [row for row in rows if is_closed(row["day"], night)]


if __name__ == "__main__":
    for month in sorted({day[:7] for day in days_to_write(mart.connect(), config.night())}):
        print(month)
PY
python3 - <<'PY'
from pathlib import Path


def edit(name, *pairs):
    source = Path(name).read_text(encoding="utf-8")
    for old, new in pairs:
        assert source.count(old) == 1, (name, old)
        source = source.replace(old, new)
    Path(name).write_text(source, encoding="utf-8")


edit("batchlib/dates.py", ("time.gmtime(seconds - time.timezone)", "time.localtime(seconds)"))
edit(
    "batchlib/mart.py",
    (
        "CREATE TABLE IF NOT EXISTS shipments",
        "CREATE TABLE IF NOT EXISTS changes (\n"
        "    night TEXT NOT NULL, order_id TEXT NOT NULL, day TEXT NOT NULL,\n"
        '    "before" INTEGER NOT NULL, "after" INTEGER NOT NULL, PRIMARY KEY (night, order_id)\n'
        ");\n"
        "CREATE TABLE IF NOT EXISTS shipments",
    ),
)
edit(
    "batchlib/orderfiles.py",
    (
        "\n\ndef read(",
        '''

def rank(name: str) -> tuple[str, int]:
    """What decides between the files of a shop: the one with the greater rank is the later one."""
    match = NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"not the name of an order file: {name}")
    return match["date"], int(match["number"])


def read(''',
    ),
)
edit(
    "jobs/load_orders.py",
    (
        "def main() -> None:",
        '''def counted(order) -> int:
    """What an order counts for in the sales."""
    return order["gross"] if order is not None and order["status"] == "new" else 0


def main() -> None:''',
    ),
    (
        "        for row in found.rows:\n",
        '''        for row in found.rows:
            known = conn.execute("SELECT * FROM orders WHERE order_id = ?", (row["order_id"],)).fetchone()
            if known is not None and orderfiles.rank(known["source"]) > orderfiles.rank(found.name):
                continue
            conn.execute(
                "INSERT INTO changes VALUES (?, ?, ?, ?, ?)"
                ' ON CONFLICT DO UPDATE SET "after" = excluded."after"',
                (night, row["order_id"], dates.business_day(row["placed_at"]), counted(known), counted(row)),
            )
''',
    ),
)
PY
