"""The progress line that is shown while pytest waits for a sample."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TextIO, TypeVar

import pytest

from control_tower.episode.verdict import Assertion
from control_tower.runners.base import Progress

T = TypeVar("T")
_REDRAW = 0.25
"""Seconds between redraws on a terminal."""
_PLAIN_INTERVAL = 10.0
"""Seconds between lines where the output is no terminal."""


class ProgressLine:
    """One line below pytest's own output: redrawn on a terminal, plain lines elsewhere."""

    def __init__(
        self,
        config: pytest.Config,
        progress: Callable[[], Progress],
        assertion: Assertion,
        *,
        clock: Callable[[], float] = time.monotonic,
        stream: TextIO | None = None,
    ) -> None:
        self._reporter: pytest.TerminalReporter | None = config.pluginmanager.get_plugin(
            "terminalreporter"
        )
        self._quiet = self._reporter is None or config.getoption("verbose") < 0
        self._config = config
        self._progress = progress
        self._assertion = assertion
        self._clock = clock
        self._stream = stream or sys.stdout
        self._started = clock()
        self._last_plain = self._started
        self._drawn = False

    def wait(self, future: Future[T], *, meanwhile: Callable[[], None]) -> T:
        """The future's result; shows progress until it is there.

        Args:
            future: what to wait for.
            meanwhile: called between two looks; what it raises ends the waiting.
        """
        try:
            while not self._is_done(future):
                meanwhile()
                self._show()
        except KeyboardInterrupt:
            self._leave()
            raise
        finally:
            self.clear()
        return future.result()

    @staticmethod
    def _is_done(future: Future[Any]) -> bool:
        """Wait for the future, for as long as the line may stay as it is."""
        try:
            future.result(timeout=_REDRAW)
        except TimeoutError:
            return False
        return True

    def show_plain(self, *, whole: bool = False) -> None:
        """Write a plain line if it is time for one; from any thread.

        Args:
            whole: end the line; otherwise pytest does, with what it writes next.
        """
        if not self._quiet and self._clock() - self._last_plain >= _PLAIN_INTERVAL:
            self._last_plain = self._clock()
            self._write_plain(self.text(), whole=whole)

    def text(self) -> str:
        """Done, running, failed, errored, elapsed and tokens."""
        progress = self._progress()
        outcomes = progress.outcomes
        errored = [o for o in outcomes if o.status in ("errored", "setup_error")]
        judged = [o for o in outcomes if o.status in ("scored", "unscored")]
        failed = [o for o in judged if self._assertion.judge(o).holds is False]
        parts = (
            *([progress.preparing] if progress.preparing else []),
            f"{len(outcomes)}/{progress.total} done",
            f"{progress.running} running",
            f"{len(failed)} failed",
            f"{len(errored)} errored",
            _clock_text(self._clock() - self._started),
            f"{sum(o.tokens for o in outcomes):,} tokens",
        )
        return "control: " + ", ".join(parts)

    def _show(self) -> None:
        if self._quiet:
            return
        if self._stream.isatty():
            self._draw(self.text())
            self._drawn = True
        else:
            self.show_plain()

    def _write_plain(self, text: str, *, whole: bool) -> None:
        """Write a line that pytest ends itself, with the newline it begins its next line with."""
        if self._reporter is not None:
            self._reporter.ensure_newline()
            if whole:
                self._reporter.write_line(text)
                return
        writer = self._config.get_terminal_writer()
        if writer.width_of_current_line:
            writer.line()
        writer.write(text, flush=True)

    def clear(self) -> None:
        """Take the line off a terminal, so that another can be written in its place."""
        if self._drawn:
            self._draw("")
            self._drawn = False

    def _leave(self) -> None:
        """Keep the line as it is, since the terminal has put its ^C into it, and go below."""
        if self._drawn:
            self._stream.write("\n\n")
            self._stream.flush()
            self._drawn = False

    def _draw(self, text: str) -> None:
        """Write on the line below and come back, so that pytest's own line goes on unharmed."""
        writer = self._config.get_terminal_writer()
        column = writer.width_of_current_line
        shown = text[: max(0, writer.fullwidth - 1)]
        back = f"\x1b[A\r\x1b[{column}C" if column else "\x1b[A\r"
        self._stream.write(f"\n\x1b[2K{shown}{back}")
        self._stream.flush()


def _clock_text(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
