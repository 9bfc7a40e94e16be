set -euo pipefail
cat > tests/test_reconcile.py <<'PY'
"""Settlement files against the books."""

from __future__ import annotations

from pathlib import Path

from ledger import config, reconcile, settlement

from .support import LedgerCase

SAMPLES = config.ROOT / "settlements"


class ReconcileTest(LedgerCase):
    def report(self, path: Path) -> dict:
        with self.connect() as conn:
            return reconcile.report(conn, settlement.read(path), "22:00")

    def written(self, text: str) -> Path:
        path = self.config.database.parent / "file.txt"
        path.write_bytes(text.encode())
        return path

    def test_a_good_day(self) -> None:
        found = self.report(SAMPLES / "halden-2024-03-04.txt")
        self.assertTrue(found["reconciled"])
        self.assertEqual(found["matched"], found["trailer"]["count"])

    def test_a_bad_day(self) -> None:
        found = self.report(SAMPLES / "halden-2024-03-05.txt")
        sizes = {name: len(value) for name, value in found.items() if isinstance(value, list)}
        self.assertEqual(
            sizes,
            {
                "amount_mismatch": 1,
                "missing_in_ledger": 1,
                "missing_in_file": 1,
                "duplicates": 1,
                "malformed": 0,
            },
        )

    def test_malformed_lines_do_not_stop_it(self) -> None:
        found = self.report(SAMPLES / "halden-2024-03-06.txt")
        reasons = [entry["reason"] for entry in found["malformed"]]
        self.assertEqual(reasons, ["amount", "type"])
        self.assertEqual(found["matched"], 8)
        self.assertFalse(found["reconciled"])

    def test_amounts(self) -> None:
        good = {("1,50", "EUR"): 150, ("7", "JPY"): 7, ("1,250", "KWD"): 1250}
        for (text, currency), amount in good.items():
            self.assertEqual(settlement.parse_amount(text, currency), amount)
        for text in ("1.50", "1,5", "1", "1.000,00", "-1,00", ""):
            self.assertIsNone(settlement.parse_amount(text, "EUR"))

    def test_unusable_files(self) -> None:
        header = "H;HALDEN;F1;2024-03-04;EUR;acct_clr_halden_eur\n"
        for text in ("", header, "T;0;0,00\n", header.replace("EUR", "XXX") + "T;0;0,00\n"):
            with self.assertRaises(settlement.Unusable):
                self.report(self.written(text))
        with self.assertRaises(settlement.Unusable):
            self.report(self.written(header.replace("_eur", "_nowhere") + "T;0;0,00\n"))
PY
python3 -m unittest 2>&1 | tail -n 4
for file in settlements/*.txt; do
    code=0
    python3 -m ledger.admin reconcile "$file" >/dev/null || code=$?
    echo "$file: exit $code"
done
sh restart.sh
