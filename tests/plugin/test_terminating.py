"""Requests to end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from pytest_control_tower.terminating import Termination


@pytest.fixture
def termination(monkeypatch: pytest.MonkeyPatch) -> Iterator[Termination]:
    """One that has the signals."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    made = Termination(from_the_start=False)
    made.install()
    yield made
    made.pytest_unconfigure()
    signal.signal(signal.SIGTERM, before)


def test_a_signal_interrupts_once(termination: Termination) -> None:
    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_a_finalizer_dropped_is_repeated_until_the_end_begins(
    termination: Termination,
) -> None:
    class Interrupted:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

    termination.repeat()
    Interrupted()
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
            termination.repeat()
    termination.begin_end()
    termination.repeat()
