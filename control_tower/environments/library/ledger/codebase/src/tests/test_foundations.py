"""What everything else stands on: money, seals, migrations, the journal, the audit chain."""

from __future__ import annotations

import sqlite3
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest import mock

from ledger import audit, db, journal, migrate, money, pii, seed, service
from ledger.admin.__main__ import main
from ledger.errors import InvalidRequest

from .support import LedgerCase


class MoneyTest(unittest.TestCase):
    def test_display(self) -> None:
        self.assertEqual(money.display(-123_456, "EUR"), "-1,234.56 EUR")
        self.assertEqual(money.display(5, "JPY"), "5 JPY")
        self.assertEqual(money.display(1_250, "KWD"), "1.250 KWD")

    def test_amounts(self) -> None:
        for value in (0, -1, 1.0, "1", None, True, money.MAX_AMOUNT + 1):
            with self.assertRaises(InvalidRequest):
                money.check_amount(value)


class SealTest(unittest.TestCase):
    def test_round_trip_and_tampering(self) -> None:
        key = bytes(range(32))
        sealed = pii.seal(key, "TX-123-456-78")
        self.assertEqual(pii.unseal(key, sealed), "TX-123-456-78")
        self.assertNotEqual(sealed, pii.seal(key, "TX-123-456-78"))
        with self.assertRaises(pii.SealError):
            pii.unseal(bytes(32), sealed)


class MigrationTest(LedgerCase):
    def test_numbers_have_no_gap_and_rerun_is_quiet(self) -> None:
        numbers = [migration.number for migration in migrate.available()]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        self.assertEqual(service.prepare(self.config), [])

    def test_a_failing_migration_leaves_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as name, self.connect() as conn:
            folder = Path(name)
            (folder / "9000_bad.sql").write_text("CREATE TABLE half (a);\nCREATE TABLE half (a);\n")
            patched = mock.patch.object(migrate, "available", lambda: _found(folder))
            with patched, self.assertRaises(sqlite3.OperationalError):
                migrate.upgrade(conn)
            tables = conn.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchall()
        self.assertEqual(tables, [])


class SeedTest(LedgerCase):
    def test_two_seeds_are_alike(self) -> None:
        with self.connect() as conn:
            first = audit.head(conn)
        with tempfile.TemporaryDirectory() as name:
            other = db.connect(Path(name) / "other.db")
            migrate.upgrade(other)
            seed.apply(other, self.config.seed_dir)
            self.assertEqual(audit.head(other), first)
            other.close()


class JournalTest(LedgerCase):
    def test_unbalanced_is_refused(self) -> None:
        account = self.account(100)
        with self.connect() as conn, self.assertRaises(journal.Unbalanced):
            journal.post(conn, "test", "x", [(account, 5)])

    def test_faults_are_found(self) -> None:
        account = self.account(100)
        with self.connect() as conn:
            self.assertEqual(journal.faults(conn), [])
            conn.execute("UPDATE accounts SET balance = 99 WHERE id = ?", (account,))
            self.assertEqual(len(journal.faults(conn)), 1)


class AuditTest(LedgerCase):
    def test_append_only_and_chained(self) -> None:
        with self.connect() as conn:
            count, fault = audit.verify(conn)
            self.assertIsNone(fault)
            with self.assertRaises(sqlite3.IntegrityError):
                conn.execute("DELETE FROM audit_log WHERE seq = 5")
            conn.execute("DROP TRIGGER audit_no_delete")
            conn.execute("DELETE FROM audit_log WHERE seq = 5")
            self.assertEqual(audit.verify(conn), (4, "record 5 is missing"))
            self.assertGreater(count, 5)

    def test_needs_a_transaction(self) -> None:
        with self.connect() as conn, self.assertRaises(RuntimeError):
            audit.append(conn, "test", "test", "x", {})


class AdminTest(LedgerCase):
    def run_admin(self, *argv: str) -> tuple[int, str]:
        output = StringIO()
        patched = mock.patch("ledger.config.load", return_value=self.config)
        with patched, redirect_stdout(output), redirect_stderr(output):
            code = main(list(argv))
        return code, output.getvalue()

    def test_checks(self) -> None:
        self.assertEqual(self.run_admin("check-books")[0], 0)
        self.assertEqual(self.run_admin("verify-audit")[0], 0)
        self.assertEqual(self.run_admin("expire-holds"), (0, ""))
        self.assertIn("acct_sys_bank_eur", self.run_admin("accounts")[1])

    def test_tokens(self) -> None:
        code, output = self.run_admin("issue-token", "cron", "holds:write")
        token_id = output.split()[0]
        self.assertEqual(code, 0)
        self.assertIn("revoked", self.run_admin("revoke-token", token_id)[1])
        self.assertIn(token_id, self.run_admin("tokens", "--all")[1])
        self.assertNotIn(token_id, self.run_admin("tokens")[1])
        self.assertEqual(self.run_admin("revoke-token", "tok_nobody")[0], 2)

    def test_customer_and_deposit(self) -> None:
        account = self.ok("GET", f"/v1/accounts/{self.account()}")
        self.assertIn("****", self.run_admin("customer", account["customer_id"])[1])
        self.assertIn("TX-1-2", self.run_admin("customer", account["customer_id"], "--reveal")[1])
        self.assertIn('"amount": 70', self.run_admin("deposit", account["id"], "70")[1])
        self.assertIn("deposit.create", self.run_admin("audit", "-n", "1")[1])


def _found(folder: Path) -> list:
    return [migrate.Migration(9000, folder / "9000_bad.sql")]
