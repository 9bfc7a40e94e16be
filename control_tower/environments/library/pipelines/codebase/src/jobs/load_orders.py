"""Load the order files that came in with the night into the mart."""

from batchlib import collected, config, dates, mart, orderfiles


def main() -> None:
    """Load them one by one."""
    conn, night = mart.connect(), config.night()
    for path in collected.files("orders", night):
        found = orderfiles.read(path)
        conn.execute("BEGIN")
        for row in found.rows:
            conn.execute(
                "INSERT OR REPLACE INTO orders (order_id, shop, placed_at, day, name, email, phone,"
                " country, partner, gross, status, source)"
                " VALUES (:order_id, :shop, :placed_at, :day, :name, :email, :phone, :country,"
                " :partner, :gross, :status, :source)",
                {
                    **row,
                    "shop": found.shop,
                    "day": dates.business_day(row["placed_at"]),
                    "source": found.name,
                },
            )
        conn.execute(
            "INSERT OR REPLACE INTO files VALUES (?, 'orders', ?, ?, ?, ?, ?)",
            (found.name, found.shop, night, len(found.rows), len(found.bad), found.complete),
        )
        conn.execute("COMMIT")
        for number, why in found.bad:
            print(f"{found.name}:{number}: {why}")
        state = "complete" if found.complete else "INCOMPLETE, its end is missing or wrong"
        print(f"{found.name}: {len(found.rows)} orders, {state}")


main()
