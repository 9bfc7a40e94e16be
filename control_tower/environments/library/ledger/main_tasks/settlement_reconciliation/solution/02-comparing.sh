set -euo pipefail
cat > ledger/reconcile.py <<'PY'
"""Compare a settlement file with what the ledger has on its clearing account."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from . import ids
from .settlement import SettlementFile, Unusable


@dataclass(frozen=True)
class Movement:
    """A transfer as seen from the clearing account."""

    transfer_id: str
    type: str
    reference: str | None
    amount: int


def business_day(day: str, cutoff: str) -> tuple[str, str]:
    """First moment of a business day, and the first one after it."""
    end = datetime.strptime(f"{day} {cutoff}", "%Y-%m-%d %H:%M").replace(tzinfo=timezone.utc)
    return ids.stamp(end - timedelta(days=1)), ids.stamp(end)


def movements(conn: sqlite3.Connection, account: str, start: str, end: str) -> list[Movement]:
    """The transfers from or to an account in a period, in the order in which they were made."""
    rows = conn.execute(
        "SELECT * FROM transfers WHERE (from_account = ? OR to_account = ?)"
        " AND created_at >= ? AND created_at < ? ORDER BY seq",
        (account, account, start, end),
    )
    return [
        Movement(row["id"], _type(row, account), row["reference"], row["amount"]) for row in rows
    ]


def report(conn: sqlite3.Connection, file: SettlementFile, cutoff: str) -> dict:
    """The report on a file. Raises Unusable when its clearing account does not fit."""
    account = conn.execute(
        "SELECT currency FROM accounts WHERE id = ?", (file.clearing_account,)
    ).fetchone()
    if account is None:
        raise Unusable(f"the ledger has no account {file.clearing_account}")
    if account["currency"] != file.currency:
        raise Unusable(f"{file.clearing_account} is not kept in {file.currency}")
    start, end = business_day(file.business_date, cutoff)
    booked = movements(conn, file.clearing_account, start, end)
    compared = _compare(file, booked)
    trailer = {
        "count": file.count,
        "count_found": file.count_found,
        "total": file.total,
        "total_found": sum(line.amount for line in file.lines),
    }
    even = trailer["count"] == trailer["count_found"] and trailer["total"] == trailer["total_found"]
    differences = [value for value in compared.values() if isinstance(value, list)]
    return {
        "file_id": file.file_id,
        "business_date": file.business_date,
        "currency": file.currency,
        "clearing_account": file.clearing_account,
        **compared,
        "trailer": trailer,
        "reconciled": even and not any(differences),
    }


def _compare(file: SettlementFile, booked: list[Movement]) -> dict:
    ledger = {(m.type, m.reference): m for m in booked if m.reference is not None}
    seen: set = set()
    matched = 0
    mismatch, missing, duplicates = [], [], []
    for line in file.lines:
        key = (line.type, line.reference)
        named = {"line": line.number, "type": line.type, "reference": line.reference}
        movement = ledger.get(key)
        if key in seen:
            duplicates.append(named)
        elif movement is None:
            missing.append({**named, "amount": line.amount})
        elif movement.amount != line.amount:
            amounts = {"file_amount": line.amount, "ledger_amount": movement.amount}
            mismatch.append({**named, **amounts, "transfer_id": movement.transfer_id})
        else:
            matched += 1
        seen.add(key)
    unseen = [vars(m) for m in booked if (m.type, m.reference) not in seen]
    return {
        "matched": matched,
        "amount_mismatch": mismatch,
        "missing_in_ledger": missing,
        "missing_in_file": unseen,
        "duplicates": duplicates,
        "malformed": file.malformed,
    }


def _type(row: sqlite3.Row, account: str) -> str:
    if row["kind"] == "reversal":
        return "R"
    return "C" if row["from_account"] == account else "P"
PY

python3 - <<'PY'
from pathlib import Path


def edit(path, *changes):
    source = Path(path).read_text(encoding="utf-8")
    for old, new in changes:
        assert source.count(old) == 1, (path, old)
        source = source.replace(old, new)
    Path(path).write_text(source, encoding="utf-8")


edit(
    "ledger/admin/__main__.py",
    (
        '    command("check-books"',
        '''    reconcile = command("reconcile", commands.reconcile, "compare a settlement file with the books")
    reconcile.add_argument("file")
    reconcile.add_argument("--output", metavar="REPORT", help="write the report here")
    command("check-books"''',
    ),
)
edit(
    "ledger/admin/commands.py",
    ("from contextlib import closing\n", "from contextlib import closing\nfrom pathlib import Path\n"),
    (
        "from .. import audit, customers, db, holds, journal, money, pii, service\n",
        "from .. import audit, customers, db, holds, journal, money, pii, service, settlement\n"
        "from .. import reconcile as reconciliation\n",
    ),
    (
        "def check_books(",
        '''def reconcile(config: Config, args: argparse.Namespace) -> int:
    """Compare a settlement file with the books."""
    file = settlement.read(Path(args.file))
    with _connected(config) as conn:
        found = reconciliation.report(conn, file, config.settlement_cutoff)
    text = json.dumps(found, indent=2)
    if args.output:
        Path(args.output).write_text(text + "\\n", encoding="utf-8")
    else:
        print(text)
    return 0 if found["reconciled"] else 1


def check_books(''',
    ),
)
edit(
    "docs/settlement-files.md",
    (
        "# Settlement files of Halden Acquiring\n",
        "# Settlement files of Halden Acquiring\n\n"
        "`python3 -m ledger.admin reconcile FILE` compares a file with the books: exit 0 if they agree,\n"
        "1 if not, 2 if the file cannot be processed.\n",
    ),
)
PY
