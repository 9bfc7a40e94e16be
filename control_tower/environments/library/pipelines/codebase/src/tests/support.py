"""A root of its own for a test."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

CODE = Path(__file__).resolve().parents[1]
HEADER = "order_id;placed_at;name;email;phone;country;partner;gross;status"


def row(number: int, placed_at: str, gross: str = "10,00", **other: str) -> str:
    """A row of an order file."""
    cells = {"country": "DE", "partner": "", "status": "new", **other}
    contact = f"Test {number};t{number}@mail.example.test;+999 100 {number:05d}"
    tail = f"{cells['country']};{cells['partner']};{gross};{cells['status']}"
    return f"T{number:04d};{placed_at};{contact};{tail}"


class RootTest(unittest.TestCase):
    """Has an empty root, and runs the batch's commands on it."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.env = {**os.environ, "BATCH_ROOT": str(self.root), "BATCH_NOW": "2024-03-10T01:30:00Z"}

    def run_it(self, *argv: str) -> subprocess.CompletedProcess:
        """Run a command in the folder of the code."""
        return subprocess.run(argv, cwd=CODE, env=self.env, capture_output=True, text=True, check=False)

    def night(self, date: str, *jobs: str) -> None:
        """Run some jobs of a night, each of which must succeed."""
        for job in jobs:
            done = self.run_it("bash", "bin/job", job, date)
            log = self.root / "log" / date / f"{job}.log"
            self.assertEqual(done.returncode, 0, f"{job}: {log.read_text() if log.exists() else done.stderr}")

    def put(self, kind: str, name: str, text: str) -> None:
        """Put a file into the inbox."""
        path = self.root / "inbox" / kind / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def orders(self, name: str, *rows: str) -> None:
        """Put an order file into the inbox."""
        self.put("orders", name, "\n".join([HEADER, *rows, f"#END;{len(rows)}", ""]))

    def out(self, name: str) -> str:
        """What a file in out/ holds."""
        return (self.root / "out" / name).read_text(encoding="utf-8")

    def mails(self) -> list[str]:
        """The subjects of all mails."""
        mails = [path.read_text(encoding="utf-8") for path in self.root.glob("spool/outgoing/*.eml")]
        return sorted(line[9:] for mail in mails for line in mail.splitlines() if line.startswith("Subject: "))
