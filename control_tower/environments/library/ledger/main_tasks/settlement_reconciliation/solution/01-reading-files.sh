set -euo pipefail
cat > ledger/settlement.py <<'PY'
"""Settlement files of the acquirer, as docs/settlement-files.md describes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from . import money
from .errors import LedgerError

TYPES = ("C", "P", "R")


class Unusable(LedgerError):
    """A file that cannot be processed at all."""

    code = "unusable_file"


@dataclass(frozen=True)
class Line:
    """A usable D line."""

    number: int
    """Its number in the file, from 1."""
    type: str
    reference: str
    amount: int


@dataclass(frozen=True)
class SettlementFile:
    """What a file says."""

    file_id: str
    business_date: str
    currency: str
    clearing_account: str
    lines: list[Line]
    malformed: list[dict]
    """`{line, reason}` for each line that cannot be used."""
    count_found: int
    """D lines, usable or not."""
    count: int
    total: int


def read(path: Path) -> SettlementFile:
    """Read a file. Raises Unusable for one that cannot be processed."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Unusable(f"{path} is not UTF-8") from None
    rows = [[part.strip() for part in line.split(";")] for line in text.split("\n")]
    filled = [number for number, row in enumerate(rows) if row != [""]]
    if len(filled) < 2 or filled[0] != 0:
        raise Unusable(f"{path} has no header or no trailer")
    file_id, day, currency, account = _header(rows[0])
    last = filled[-1]
    count, total = _trailer(rows[last], currency)
    lines, malformed, found = [], [], 0
    for index in filled[1:-1]:
        row = rows[index]
        found += row[0] == "D"
        reason = _fault(row, currency)
        if reason:
            malformed.append({"line": index + 1, "reason": reason})
        else:
            amount = parse_amount(row[3], currency)
            assert amount is not None
            lines.append(Line(index + 1, row[1], row[2], amount))
    return SettlementFile(file_id, day, currency, account, lines, malformed, found, count, total)


def parse_amount(text: str, currency: str) -> int | None:
    """Minor units of an amount with a decimal comma, None for anything else."""
    places = money.exponent(currency)
    pattern = rf"([0-9]+),([0-9]{{{places}}})" if places else r"([0-9]+)()"
    match = re.fullmatch(pattern, text)
    return int(match[1] + match[2]) if match else None


def _header(row: list[str]) -> tuple[str, str, str, str]:
    if len(row) != 6 or row[:2] != ["H", "HALDEN"] or not row[2]:
        raise Unusable("the first line is not a header of Halden")
    _, _, file_id, day, currency, account = row
    try:
        parsed = datetime.strptime(day, "%Y-%m-%d")
    except ValueError:
        parsed = None
    if parsed is None or parsed.strftime("%Y-%m-%d") != day:
        raise Unusable(f"the header has no date: {day!r}")
    if currency not in money.EXPONENTS:
        raise Unusable(f"the header has a currency that we do not carry: {currency!r}")
    return file_id, day, currency, account


def _trailer(row: list[str], currency: str) -> tuple[int, int]:
    total = parse_amount(row[2], currency) if len(row) == 3 else None
    if row[0] != "T" or total is None or not re.fullmatch("[0-9]+", row[1]):
        raise Unusable("the last line is not a trailer; the file was cut off")
    return int(row[1]), total


def _fault(row: list[str], currency: str) -> str | None:
    if row[0] != "D":
        return "record"
    if len(row) != 5:
        return "fields"
    if row[1] not in TYPES:
        return "type"
    if not row[2]:
        return "reference"
    if not parse_amount(row[3], currency):
        return "amount"
    return "currency" if row[4] != currency else None
PY
