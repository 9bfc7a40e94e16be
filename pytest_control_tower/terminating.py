"""Ending a run in order when it is told to end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = ("SIGTERM", "SIGHUP")


@contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """Within it, a request to terminate is what Ctrl-C is: an interrupt, after which what is
    finished is reported and sandboxes are removed.

    Where somebody handles or ignores a signal already (`nohup` does), that stays.
    """
    ours = []
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
        ours = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)
