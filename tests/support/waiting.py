"""Waiting for what another process brings about."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until a condition holds; fail if it does not within so many seconds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.1)
