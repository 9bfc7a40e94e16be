"""What cron runs at 03:10: tidying up, and looking whether the books are in order."""

from __future__ import annotations

from datetime import date
from typing import Any

from . import audit, db, sessions, stock


def run(conn: Any, today: date) -> list[str]:
    """Run all of it; returns lines for the mail to operations."""
    report = [f"nightly {today.isoformat()}"]
    with db.transaction(conn):
        report.append(f"sessions purged: {sessions.purge(conn)}")
        audit.record(conn, "nightly", "nightly.run", today.isoformat())
    count, faults = audit.verify(conn)
    report.append(f"audit: {count} records, {'; '.join(faults) or 'whole'}")
    report += [
        f"stock: {row['sku']} has {row['on_hand']}, the journal says {row['journal']}"
        for row in stock.differences(conn)
    ]
    return report
