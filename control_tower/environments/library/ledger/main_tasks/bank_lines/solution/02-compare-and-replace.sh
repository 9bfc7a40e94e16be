set -euo pipefail
# The old and the new one on the same lists, then tests that keep what was found; then the old one goes.
python3 - <<'PY'
import random
import subprocess
import sys
import tempfile
from pathlib import Path

draw = random.Random(7)
pieces = ["20240301", "2024", "20241301", ";", ";", ";", "12,50", "1.234,5", "+007", "-1,00", ",", "0,000",
          "EUR", "JPY", "KWD", "XXX", "acct_66b700683435", "acct_sys", " ", "\r", "\n", "\n", "\n#",
          "\n!currency USD\n", "\n!end", "\\n", "*", "\u00e4", "20240301;5;EUR;acct_66b700683435"]
with tempfile.TemporaryDirectory() as folder:
    for number in range(150):
        lists = [Path(folder, f"{name}.txt") for name in "ab"]
        for path in lists:
            path.write_bytes("".join(draw.choices(pieces, k=120)).encode("latin-1"))
        seen = []
        for way in (["sh", "tools/bank-lines.sh"], [sys.executable, "-m", "ledger.bank_lines"]):
            state = Path(folder, "state")
            state.write_bytes(b"20240301 500 EUR acct_66b700683435\n20240301 7")
            options = draw.choice([[], ["-n"], ["-m200"], ["-nm", "7"]]) if way[0] == "sh" else options
            ended = subprocess.run([*way, *options, "-s", state, *lists], capture_output=True)
            seen.append((ended.returncode, ended.stdout, ended.stderr, state.read_bytes()))
        assert seen[0] == seen[1], (number, options, seen)
print("no difference")
PY
cat > tests/test_bank_lines.py <<'PY'
"""The bank's lists, read as the old shell script read them."""

from __future__ import annotations

import unittest

from ledger import bank_lines
from ledger.bank_lines import Lists, Refused, Skipped, Usage

ACCOUNT = b"acct_66b700683435"


class BankLinesTest(unittest.TestCase):
    def test_amounts(self) -> None:
        good = {(b"1.234,5", 2): b"123450", (b"+007", 0): b"7", (b",5", 2): b"50", (b"1,50000", 2): b"150"}
        for (given, places), minor in good.items():
            self.assertEqual(bank_lines.minor_units(given, places), minor)
        for given in (b"-1", b"", b".", b"1,2,3", b"1,001", b"0,00", b"12345678901,00", b"1 0"):
            with self.assertRaises(Refused):
                bank_lines.minor_units(given, 2)

    def test_short_lines_repeat_their_last_field(self) -> None:
        self.assertEqual(bank_lines.fields(b"a;b"), [b"a", b"b", b"b", b"b"])

    def test_seen_small_and_default_currency(self) -> None:
        lists = Lists(100, {b"20240301 700 EUR " + ACCOUNT})
        lists.default = b"EUR"
        self.assertEqual(lists.payment(b"20240301;8;;" + ACCOUNT), b"deposit " + ACCOUNT + b" 800")
        for line in (b"20240301;7;EUR;", b"20240301;0,5;EUR;", b"20240301;0,5;;"):
            with self.assertRaises(Skipped):
                lists.payment(line + ACCOUNT)
        self.assertEqual(lists.totals, {b"EUR": [1, 800]})

    def test_options(self) -> None:
        found = bank_lines.parse([b"-nm5", b"-s", b"-n", b"--", b"-x"])
        self.assertEqual((found.dry, found.minimum, found.state), (True, b"5", b"-n"))
        self.assertEqual(found.files, [b"-x"])
        for argv in ([], [b"-x", b"f"], [b"-m"], [b"-m", b"1e3", b"f"], [b"-m123456789012", b"f"]):
            with self.assertRaises(Usage):
                bank_lines.parse(argv)
PY
rm tools/bank-lines.sh
python3 - <<'PY'
from pathlib import Path

for name, old, new in (
    ("docs/bank-lists.md", "`sh tools/bank-lines.sh FILE…`", "`python3 -m ledger.bank_lines FILE…`"),
    ("README.md", "| `tools/` | `bank-lines.sh`,", "| `ledger/bank_lines.py` | the bank's lists,"),
):
    source = Path(name).read_text(encoding="utf-8")
    assert source.count(old) == 1, name
    Path(name).write_text(source.replace(old, new), encoding="utf-8")
PY
python3 -m unittest 2>&1 | tail -n 4
