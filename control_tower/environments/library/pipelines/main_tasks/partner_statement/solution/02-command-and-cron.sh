set -euo pipefail
cat > bin/statement <<'PY'
#!/usr/bin/python3
"""Write the partners' statements of a month, and the payments for them. docs/statements.md.

    python3 bin/statement YYYY-MM
    python3 bin/statement --last-month
"""

import calendar
import os
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from batchlib import config, mart, statements


def last_month() -> str:
    """The month before the one that it is, by local time."""
    config.use_local_time()
    now = os.environ.get("BATCH_NOW")
    seconds = calendar.timegm(time.strptime(now, "%Y-%m-%dT%H:%M:%SZ")) if now else time.time()
    return statements.month_before(time.strftime("%Y-%m", time.localtime(seconds)))


def main(argv: list[str]) -> int:
    """Run the command."""
    month = last_month() if argv == ["--last-month"] else "".join(argv[:1])
    if len(argv) != 1 or not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", month):
        print("usage: bin/statement YYYY-MM | --last-month", file=sys.stderr)
        return 64
    statements.write_all(mart.connect(), month)
    return 0


sys.exit(main(sys.argv[1:]))
PY
cat > etc/cron.d/40-statements <<'CRON'
# The partners' statements of the month before.
0 4 5 * *       python3 bin/statement --last-month
CRON
cat > tests/test_statements.py <<'PY'
"""Statements of partners."""

from tests.support import RootTest, row

MOVES = "order_id,at,carrier,parcels,kind\n"


class StatementTest(RootTest):
    def test_a_month(self) -> None:
        self.orders(
            "north-20240209-1.csv",
            row(1, "2024-02-09T10:00:00Z", "1190,00", partner="quayside"),
            row(2, "2024-02-09T10:00:00Z", "11,90", partner="quayside"),
        )
        moves = "T0001,2024-02-10 09:00,GLP,1,out\nT0002,2024-02-10 09:00,GLP,1,out\nT0002,2024-03-02 09:00,GLP,1,return\n"
        self.put("shipments", "wh-20240210.csv", MOVES + moves)
        self.night("2024-03-02", "collect", "load-orders", "load-shipments")
        for month in ("2024-02", "2024-03", "2024-03"):
            self.assertEqual(self.run_it("python3", "bin/statement", month).returncode, 0)
        self.assertIn("#PAYOUT;53,03\n#OPEN;0,00\n", self.out("partners/quayside/statement-2024-02.csv"))
        text = self.out("partners/quayside/statement-2024-03.csv")
        self.assertIn("return;T0002;2024-03-02;-10,00;-0,53\n", text)
        self.assertIn("#PAYOUT;0,00\n#OPEN;-0,53\n", text)
        self.assertEqual(self.run_it("bash", "bin/check-drop", "quayside").returncode, 0)
        self.assertEqual(self.run_it("python3", "bin/statement", "2024").returncode, 64)
PY
python3 - <<'PY'
from pathlib import Path

path = Path("docs/statements.md")
source = path.read_text(encoding="utf-8")
path.write_text(
    source.replace("; so far made by hand)", ")") + "\n`bin/statement` makes them; `etc/contracts.csv` has the terms. Cron runs it on the 5th.\n",
    encoding="utf-8",
)
PY
bash bin/deploy
python3 bin/schedule
python3 -m unittest 2>&1 | tail -n 4
