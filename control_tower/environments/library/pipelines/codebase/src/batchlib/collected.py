"""What jobs/collect.sh has taken in."""

from __future__ import annotations

from pathlib import Path

from batchlib import config


def files(kind: str, night: str) -> list[Path]:
    """The files of a kind that came in with a night, by name."""
    record = config.root() / "state/collected.tsv"
    if not record.exists():
        return []
    rows = [line.split("\t") for line in record.read_text(encoding="utf-8").splitlines()]
    names = sorted(row[2] for row in rows if row[0] == night and row[1] == kind)
    return [config.root() / "archive" / kind / name for name in names]
