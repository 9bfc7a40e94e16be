"""Ending a run in order when it is told to end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = ("SIGTERM", "SIGHUP")


class Termination:
    """What becomes of a request to terminate: an interrupt, as by Ctrl-C, until the end has begun.

    Where somebody handles or ignores a signal already (`nohup` does), that stays.
    """

    def __init__(self) -> None:
        self._ending = False
        self._ours: list[int] = []

    def begin_end(self) -> None:
        """From now on, what ends the run is not to be ended itself: requests are ignored."""
        self._ending = True

    def install(self) -> None:
        """Take over the signals that nobody else handles; only in the main thread."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)):
            if signal.getsignal(number) is signal.SIG_DFL:
                self._ours.append(number)
                signal.signal(number, self._interrupt)

    def restore(self) -> None:
        """Give the signals back."""
        while self._ours:
            signal.signal(self._ours.pop(), signal.SIG_DFL)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._ending:
            self._ending = True
            raise KeyboardInterrupt(signal.Signals(number).name)


@contextmanager
def termination_as_interrupt() -> Iterator[Termination]:
    """Within it, SIGTERM and SIGHUP interrupt once, and are ignored after `begin_end`."""
    termination = Termination()
    try:
        termination.install()
        yield termination
    finally:
        termination.restore()
