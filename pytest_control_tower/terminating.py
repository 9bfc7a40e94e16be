"""Ending a run in order when it is told to end."""

from __future__ import annotations

import signal
import threading
from types import FrameType

import pytest

_SIGNALS = ("SIGTERM", "SIGHUP")


class Termination:
    """What becomes of SIGTERM and SIGHUP: an interrupt, as by Ctrl-C, until the end has begun.

    Registered as a plugin for the length of a session. Where somebody handles or ignores a signal
    already (`nohup` does), that stays.

    Args:
        from_the_start: whether it begins with the session; otherwise when it is installed.
    """

    def __init__(self, *, from_the_start: bool) -> None:
        self._from_the_start = from_the_start
        self._ending = False
        self._told: str | None = None
        """The signal that interrupted, until the end has begun."""
        self._ours: list[int] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Take the signals over before anything starts that would be left."""
        if self._from_the_start:
            self.install()

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Give the signals back."""
        while self._ours:
            signal.signal(self._ours.pop(), signal.SIG_DFL)

    def install(self) -> None:
        """Take over the signals that nobody else handles; only in the main thread."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)):
            if signal.getsignal(number) is signal.SIG_DFL:
                self._ours.append(number)
                signal.signal(number, self._interrupt)

    def begin_end(self) -> None:
        """From now on, what ends the run is not to be ended itself: requests are ignored."""
        self._ending = True
        self._told = None

    def repeat(self) -> None:
        """Interrupt once more if a signal has, and nothing ends.

        An interrupt that comes while Python calls a finalizer is dropped by it.

        Raises:
            KeyboardInterrupt: if so.
        """
        if self._told is not None:
            raise KeyboardInterrupt(self._told)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._ending:
            self._ending = True
            self._told = signal.Signals(number).name
            raise KeyboardInterrupt(self._told)
