set -euo pipefail
cat > jobs/daily_sales.py <<'PY'
"""Write the sales of the days that the night has changed. docs/sales.md."""

from collections import defaultdict

from batchlib import config, mart, money, sales


def day_file(conn, day: str) -> str:
    """The sales of a day."""
    sums = defaultdict(lambda: [0, 0, 0])
    for order in conn.execute("SELECT * FROM orders WHERE day = ? AND status = 'new'", (day,)):
        one = sums[order["shop"], order["country"]]
        one[0] += 1
        one[1] += order["gross"]
        one[2] += money.net_of(order["gross"], order["country"])
    lines = ["shop;country;orders;gross;net"]
    for (shop, country), (count, gross, net) in sorted(sums.items()):
        lines.append(f"{shop};{country};{count};{money.show(gross)};{money.show(net)}")
    print(f"{day}: {sum(one[0] for one in sums.values())} orders")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write out/sales/sales-DAY.csv of each day, and late-DATE.csv."""
    conn, night = mart.connect(), config.night()
    folder = config.root() / "out/sales"
    folder.mkdir(parents=True, exist_ok=True)
    for day in sales.days_to_write(conn, night):
        (folder / f"sales-{day}.csv").write_text(day_file(conn, day), encoding="utf-8")
    lines = ["order_id;day;before;after"]
    for change in sales.late_changes(conn, night):
        amounts = f"{money.show(change['before'])};{money.show(change['after'])}"
        lines.append(f"{change['order_id']};{change['day']};{amounts}")
    (folder / f"late-{night}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
PY
cat > jobs/month_sales.sh <<'SH'
# Add up the sales of each month that the night has changed from those of its days. docs/sales.md.
set -eu
. lib/common.sh

for month in $(python3 -m batchlib.sales); do
    out=$ROOT/out/sales/month-$month.csv
    for path in "$ROOT/out/sales/sales-$month"-[0-3][0-9].csv; do
        [ ! -f "$path" ] || tail -n +2 "$path"
    done | awk -F ';' '
        { gsub(/,/, ""); count[$1] += $3; gross[$1] += $4; net[$1] += $5 }
        function show(cents) { return sprintf("%d,%02d", int(cents / 100), cents % 100) }
        END { for (shop in count) printf "%s;%d;%s;%s\n", shop, count[shop], show(gross[shop]), show(net[shop]) }
    ' | sort >"$out.new"
    {
        echo 'shop;orders;gross;net'
        cat "$out.new"
    } >"$out"
    rm "$out.new"
    echo "$month: $(($(wc -l <"$out") - 1)) shops"
done
SH
cat > tests/test_late_files.py <<'PY'
"""Files that come late, and out of order."""

import unittest

from batchlib import dates
from tests.support import RootTest, row

SALES = ("collect", "load-orders", "daily-sales", "month-sales")


class DaysTest(unittest.TestCase):
    def test_summer_time(self) -> None:
        self.assertEqual(dates.business_day("2024-03-30T22:59:59Z"), "2024-03-30")
        self.assertEqual(dates.business_day("2024-03-31T22:00:00Z"), "2024-04-01")
        self.assertEqual(dates.business_day("2024-10-27T22:59:59Z"), "2024-10-27")


class LateFilesTest(RootTest):
    def test_the_latest_file_decides(self) -> None:
        self.orders("north-20240309-10.csv", row(1, "2024-03-09T10:00:00Z", "10,00"))
        self.orders("north-20240309-9.csv", row(1, "2024-03-09T10:00:00Z", "9,00"))
        self.night("2024-03-09", *SALES)
        self.orders("north-20240309-2.csv", row(1, "2024-03-09T10:00:00Z", "2,00"))
        self.night("2024-03-10", *SALES)
        self.assertIn("north;DE;1;10,00;8,40\n", self.out("sales/sales-2024-03-09.csv"))

    def test_open_and_closed_months(self) -> None:
        self.orders("north-20240329-1.csv", row(1, "2024-03-29T10:00:00Z", "11,90"))
        self.night("2024-04-03", *SALES)
        self.assertEqual(self.out("sales/month-2024-03.csv"), "shop;orders;gross;net\nnorth;1;11,90;10,00\n")
        self.orders("north-20240404-1.csv", row(1, "2024-03-29T10:00:00Z", "11,90", status="cancelled"))
        self.night("2024-04-04", *SALES)
        self.assertEqual(self.out("sales/month-2024-03.csv"), "shop;orders;gross;net\nnorth;1;11,90;10,00\n")
        self.assertIn("T0001;2024-03-29;11,90;0,00\n", self.out("sales/late-2024-04-04.csv"))

    def test_all_days_of_october(self) -> None:
        for number, day in enumerate(("2024-10-27", "2024-10-31")):
            self.orders(f"north-{day.replace('-', '')}-1.csv", row(number, f"{day}T10:00:00Z"))
            self.night(day, *SALES)
        self.assertIn("north;2;20,00;16,80\n", self.out("sales/month-2024-10.csv"))
PY
python3 -m unittest 2>&1 | tail -n 4
