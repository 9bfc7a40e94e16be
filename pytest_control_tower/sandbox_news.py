"""What sandboxes warn of while a run lasts, such as a start-up that is tried again."""

from __future__ import annotations

import logging
from collections.abc import Callable

LOGGER = "control_tower.sandboxes"
"""Warnings of this logger, and of those below it, are for the user to see."""


class SandboxNews(logging.Handler):
    """Gives each warning, as one line, to whoever shows or keeps it.

    Args:
        tell: called with the line, in the thread that warns.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Pass the record's message on; what goes wrong with it is `logging`'s to report."""
        try:
            self._tell(f"control tower: {' '.join(record.getMessage().split())}")
        except Exception:  # reported by `handleError`: a warning must not end what it is about
            self.handleError(record)

    def __enter__(self) -> SandboxNews:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def begin(self) -> None:
        """Listen from now on."""
        logging.getLogger(LOGGER).addHandler(self)

    def end(self) -> None:
        """Listen no more."""
        logging.getLogger(LOGGER).removeHandler(self)
