"""Log files: one line an event, `time name event key=value …`."""

from __future__ import annotations

import os
from pathlib import Path

from . import ids


class Log:
    """Appends to one file. Lines are short, so that those of several processes do not mix."""

    def __init__(self, folder: Path, file: str, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / file
        self.name = name

    def write(self, event: str, **fields: object) -> None:
        """Add a line."""
        pairs = " ".join(f"{key}={_plain(value)}" for key, value in fields.items())
        line = f"{ids.stamp(ids.now())} {self.name} {event} {pairs}".rstrip() + "\n"
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)


def _plain(value: object) -> str:
    return "_".join(str(value).split())[:200] or "-"
