"""The files that the shops send: docs/order-files.md."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from pathlib import Path

from batchlib import money

FIELDS = "order_id placed_at name email phone country partner gross status".split()
NAME = re.compile(r"(?P<shop>[a-z]+)-(?P<date>\d{8})-(?P<number>\d+)\.csv")
_PLACED_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass
class OrderFile:
    """What a file holds."""

    name: str
    shop: str
    rows: list[dict] = field(default_factory=list)
    bad: list[tuple[int, str]] = field(default_factory=list)
    """Numbers of lines that cannot be used, and why."""
    complete: bool = False
    """Whether it ends as it should, with the number of its orders."""


def read(path: Path) -> OrderFile:
    """Read a file; lines that cannot be used are left out."""
    match = NAME.fullmatch(path.name)
    if match is None:
        raise ValueError(f"not the name of an order file: {path.name}")
    found = OrderFile(path.name, match["shop"])
    with path.open(encoding="utf-8", newline="") as stream:
        lines = csv.reader(stream, delimiter=";")
        for number, cells in enumerate(lines, 1):
            if number == 1 or not cells:
                continue
            if cells[0] == "#END":
                count = len(found.rows) + len(found.bad)
                found.complete = len(cells) == 2 and cells[1] == str(count)
                break
            try:
                found.rows.append(_row(cells))
            except ValueError as error:
                found.bad.append((number, str(error)))
    return found


def _row(cells: list[str]) -> dict:
    if len(cells) != len(FIELDS):
        raise ValueError(f"{len(cells)} fields")
    row: dict = dict(zip(FIELDS, cells))
    if not _PLACED_AT.fullmatch(row["placed_at"]):
        raise ValueError(f"no time: {row['placed_at']}")
    if row["status"] not in ("new", "cancelled"):
        raise ValueError(f"no status: {row['status']}")
    row["gross"] = money.parse(row["gross"])
    return row
