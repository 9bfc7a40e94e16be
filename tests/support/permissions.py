"""Folders that may not be entered, also where the tests run as root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534


@contextmanager
def closed(folder: Path) -> Iterator[None]:
    """Nobody may enter or list `folder`; those above it in a temporary directory stay passable."""
    modes = {path: path.stat().st_mode for path in (folder, *list(folder.parents)[:-2])}
    user = os.geteuid()
    try:
        for path, mode in modes.items():
            path.chmod(0 if path == folder else mode | 0o055)
        if user == 0:
            os.seteuid(_NOBODY)
        yield
    finally:
        os.seteuid(user)
        for path, mode in modes.items():
            path.chmod(mode)
