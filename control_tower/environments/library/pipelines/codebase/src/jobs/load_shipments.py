"""Load the warehouse's files that came in with the night into the mart."""

import csv

from batchlib import collected, config, mart


def main() -> None:
    """Load them one by one."""
    conn, night = mart.connect(), config.night()
    for path in collected.files("shipments", night):
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        good = [row for row in rows if row["kind"] in ("out", "return") and row["order_id"]]
        conn.execute("BEGIN")
        conn.executemany(
            "INSERT OR REPLACE INTO shipments (order_id, kind, at, carrier, parcels, source)"
            " VALUES (:order_id, :kind, :at, :carrier, :parcels, :source)",
            [{**row, "source": path.name} for row in good],
        )
        conn.execute(
            "INSERT OR REPLACE INTO files VALUES (?, 'shipments', '', ?, ?, ?, 1)",
            (path.name, night, len(good), len(rows) - len(good)),
        )
        conn.execute("COMMIT")
        print(f"{path.name}: {len(good)} of {len(rows)} rows")


main()
