"""How `ct` calls pytest: with the plugin's own settings, and the current folder as its root."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import FrameType, TracebackType
from typing import IO, Any

import click

from control_tower.errors import UsageProblem, current_folder
from control_tower.options import FRONT_END_FLAG

_CAME_TO_AN_END = (0, 1, 5, 10)
"""pytest's exit codes after which its results count: passed, failed, nothing collected, undecided.

The last is `pytest_control_tower.summary.EXIT_UNDECIDED`.
"""


class PytestStopped(click.ClickException):
    """A run of pytest came to no end of its own: one line on standard error, and exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line as `ct` prints its usage errors."""
        click.echo(f"ct: error: {self.message}", file=file, err=True)


class PytestRuns:
    """Runs of pytest, one after the other, each in a process of its own.

    In a `with` block, requests to stop (SIGINT, SIGTERM, SIGHUP) reach the process that runs. A
    signal that somebody ignores (`nohup` does) or handles already stays as it is.

    pytest is in a session of its own. So Ctrl-C, which a terminal sends to all of a process group,
    comes to `ct` alone, as from `kill`, and pytest is told once in either case. Having no terminal
    that controls it, it is never stopped for printing to one. What else a terminal sends (Ctrl-\\
    and Ctrl-Z) is passed on, too.
    """

    def __init__(self) -> None:
        self._stopped_by: signal.Signals | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._told = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> PytestRuns:
        """Take over the signals."""
        handlers: dict[signal.Signals, Callable[[int, FrameType | None], None]] = {
            signal.SIGINT: self._stop,
            signal.SIGTERM: self._stop,
            signal.SIGHUP: self._stop,
            signal.SIGQUIT: self._quit,
            signal.SIGTSTP: self._pause,
        }
        for number, handler in handlers.items():
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                self._before[number] = signal.signal(number, handler)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the signals back.

        Raises:
            PytestStopped: a request to stop came, and was not raised yet.
        """
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if kind is None:
            self._refuse_if_stopped()

    def run(self, arguments: Sequence[str], *, title: str) -> None:
        """Print `title`, run pytest with its own and these arguments, and wait for its end.

        Raises:
            PytestStopped: `ct` was told to stop, maybe before the start, or pytest ended with a
                signal, or with an exit code after which there are no results.
            UsageProblem: as `own_arguments`.
        """
        command = [sys.executable, "-m", "pytest", *own_arguments(), *arguments]
        self._refuse_if_stopped()
        click.echo(title)
        sys.stdout.flush()
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, start_new_session=True
        ) as self._process:
            self._tell()  # of what came while it was started
            code = self._process.wait()
        self._process = None
        self._refuse_if_stopped()
        if code not in _CAME_TO_AN_END:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise PytestStopped(f"pytest ended with {how}")

    def _refuse_if_stopped(self) -> None:
        if self._stopped_by is not None:
            raise PytestStopped(f"stopped by {self._stopped_by.name}")

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """Only the first request counts: a second would disturb pytest's orderly end."""
        if self._stopped_by is None:
            self._stopped_by = signal.Signals(number)
            self._tell()

    def _tell(self) -> None:
        if self._process is None or self._stopped_by is None or self._told:
            return
        self._told = True
        if self._stopped_by is signal.SIGQUIT:
            self._send_to_all(signal.SIGQUIT)
            return
        # To pytest at work both are the same, but SIGINT ends one that is starting in a traceback.
        ctrl_c = self._stopped_by is signal.SIGINT
        self._process.send_signal(signal.SIGTERM if ctrl_c else self._stopped_by)

    def _quit(self, number: int, frame: FrameType | None) -> None:
        """End at once, also what is slow to stop."""
        self._stopped_by, self._told = signal.SIGQUIT, False
        self._tell()

    def _pause(self, number: int, frame: FrameType | None) -> None:
        """Stand still together; here we go on when the shell says so."""
        self._send_to_all(signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        self._send_to_all(signal.SIGCONT)

    def _send_to_all(self, number: int) -> None:
        """To pytest and what is in its process group; to nobody once pytest is gone."""
        if self._process is not None and self._process.poll() is None:
            with suppress(ProcessLookupError):  # gone, while `wait` is about to note it
                os.killpg(self._process.pid, number)


def own_arguments() -> list[str]:
    """The arguments that go before the user's.

    Raises:
        UsageProblem: the plugin is not installed, or the current folder is gone.
    """
    own = ["-c", str(_packaged_ini()), "--rootdir", str(current_folder()), "--noconftest"]
    # Checking the options has imported the policy's module, which may import a pytest plugin.
    own += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return [*own, f"{FRONT_END_FLAG}=ct"]


def _packaged_ini() -> Path:
    """The plugin's own pytest configuration, found without importing the plugin before pytest."""
    plugin = find_spec("pytest_control_tower")
    if plugin is None or plugin.origin is None:
        raise UsageProblem("the package pytest_control_tower is not installed beside control_tower")
    return Path(plugin.origin).parent / "suite" / "ct.ini"
