"""Runs that are killed at chosen moments, and what they leave."""

from __future__ import annotations

import os
import random
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from control_tower.runners.journal import History, read_history
from support.containers import things_of
from support.environments import EnvironmentFiles, main_task

TESTS = Path(__file__).parents[1]
HEEDING = ["env", "--default-signal=INT,TERM,HUP,QUIT"]
"""What whoever started the tests ignores (nohup, a shell's background) is not ignored here."""
DEADLINE = 240.0
"""Seconds after which waiting is given up; nothing depends on it when all is well."""
MOST_JITTER = 6.0
"""Seconds after the start within which the moment `any` falls."""

Moment = Literal["start", "provisioning", "working", "scoring", "stopping", "any"]
MOMENTS: tuple[Moment, ...] = ("start", "provisioning", "working", "scoring", "stopping", "any")


@dataclass(frozen=True)
class Cell:
    """One cell of the matrix: which run is killed, how, and when."""

    sandbox: str
    workers: int
    """xdist's; 0: none."""
    target: Literal["run", "worker"]
    number: signal.Signals | None
    """The signal; None lets the run end by itself."""
    moment: Moment

    @property
    def id(self) -> str:
        """For a test's id, or a row of a table."""
        processes = f"n{self.workers}" if self.workers else "alone"
        number = self.number.name if self.number else "none"
        return f"{self.sandbox}-{processes}-{self.target}-{number}-{self.moment}"


@dataclass(frozen=True)
class Ended:
    """What a killed run came to."""

    code: int
    output: str
    seconds: float
    """From the signal to the end of all its processes."""
    left_at_once: tuple[str, ...]
    """What of it there was when its processes had ended."""
    left_later: tuple[str, ...]
    """What of it there was when a next run had ended."""
    next_code: int
    next_output: str
    finished: frozenset[str]
    """Samples that were finished when the signal came."""
    history: History
    """Of the killed run, at its end."""


class KilledRun:
    """A run of six samples, two at a time in each process, made to be killed.

    Args:
        place: an empty folder for everything.
        cell: which run, and how it is killed.
        state: the state directory, if it is shared with another run.
    """

    def __init__(self, place: Path, cell: Cell, *, state: Path | None = None) -> None:
        self._state = state or place / "state"
        self._place = place
        self._cell = cell
        self._mark = f"{random.randrange(10**9, 10**10)}7"  # no trailing zero
        """In the arguments of every process that works in its sandboxes."""
        self.environment = f"killed-{secrets.token_hex(4)}"
        check = f"import subprocess\nsubprocess.run(['sleep', '{self._sleep('scoring')}'])\n"
        task = main_task(check=f"{check}print('CORRECT: slept')\n")
        tasks = {f"task{number}": task for number in range(6)}
        EnvironmentFiles(name=self.environment, main=tasks, side={}).write(place / "environments")
        self._variables = os.environ | {
            "CT_ENVIRONMENTS_PATH": str(place / "environments"),
            "CT_STATE_DIR": str(self._state),
            "PYTHONPATH": str(TESTS),
        }

    def end(self) -> Ended:
        """Run it, kill it, look; run something else, and look again."""
        process = self._start()
        try:
            self._await_moment(process)
            finished = frozenset(self._history().finished)
            began = time.monotonic()
            for pid in self._targets(process):
                with suppress(ProcessLookupError):
                    os.kill(pid, self._cell.number or 0)
            output, _ = process.communicate(timeout=DEADLINE)
            until(lambda: not session_of(process.pid), "its processes end")
            seconds = time.monotonic() - began
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        history, left_at_once = self._history(), self.left()
        following = subprocess.run(
            self._command("--ct-main-task=task0", "--ct-untrusted-policy=noop", "--ct-assert=none"),
            cwd=self._place,
            env=self._variables,
            capture_output=True,
            text=True,
            check=False,
        )
        return Ended(
            code=process.returncode,
            output=output,
            seconds=seconds,
            left_at_once=left_at_once,
            left_later=self.left(),
            next_code=following.returncode,
            next_output=following.stdout + following.stderr,
            finished=finished,
            history=history,
        )

    def left(self) -> tuple[str, ...]:
        """What there is of this run: processes, containers, networks, directories."""
        folders = [path.name for path in self._state.glob("*") if path.is_dir()]
        things = things_of(self.environment) if self._cell.sandbox == "docker" else []
        processes = *self._processes(self._mark), *self._processes(str(self._state))
        return (*processes, *things, *folders)

    def _sleep(self, what: Moment) -> str:
        return f"0.{'6' if what == 'scoring' else '9'}{self._mark}"

    def _start(self) -> subprocess.Popen[str]:
        args = [
            "--ct-all",
            "--ct-assert=none",
            "--ct-untrusted-policy=support.policies:runs",
            f"--ct-untrusted-policy-arg=commands=[sleep {self._sleep('working')}]",
            f"--ct-max-samples={2 * max(1, self._cell.workers)}",
        ]
        if self._cell.workers:
            args += ["-n", str(self._cell.workers)]
        return subprocess.Popen(
            self._command(*args),
            cwd=self._place,
            env=self._variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def _command(self, *args: str) -> list[str]:
        own = [f"--ct-env={self.environment}", f"--ct-sandbox={self._cell.sandbox}"]
        pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *own, *args]
        return [*HEEDING, *pytest]

    def _await_moment(self, process: subprocess.Popen[str]) -> None:
        conditions: dict[Moment, Callable[[], object]] = {
            "start": lambda: list(self._place.glob("logs/*")),
            "provisioning": lambda: self._history().started,
            "working": lambda: self._processes(self._sleep("working")),
            "scoring": lambda: self._processes(self._sleep("scoring")),
            "stopping": lambda: self._processes(self._sleep("working")),
            "any": lambda: list(self._place.glob("logs/*")),
        }
        moment = self._cell.moment
        until(lambda: conditions[moment]() or process.poll() is not None, f"moment '{moment}'")
        if moment == "stopping":
            process.send_signal(signal.SIGINT)
        time.sleep(random.uniform(0, MOST_JITTER if moment == "any" else 0.3))

    def _targets(self, process: subprocess.Popen[str]) -> list[int]:
        return [process.pid] if self._cell.target == "run" else _children(process.pid)[:1]

    def _history(self) -> History:
        runs = list(self._place.glob("logs/*_runs_*"))
        return read_history(runs[0]) if runs else History()

    def _processes(self, text: str) -> list[str]:
        """Command lines with this text, other than pytest's own, as the host sees them."""
        lines = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                lines.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        return [line for line in lines if text in line and " -m pytest " not in line]


def session_of(leader: int) -> list[int]:
    """Pids of the processes in the session that `leader` leads or led."""
    return [pid for pid, fields in _processes_stat() if int(fields[3]) == leader]


def _children(parent: int) -> list[int]:
    return [pid for pid, fields in _processes_stat() if int(fields[1]) == parent]


def _processes_stat() -> list[tuple[int, list[str]]]:
    """Pid, and the fields of `/proc/PID/stat` from the state on, of what is no zombie."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                found.append((int(path.parent.name), fields))
    return found


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition; it is a failed test if `what` never comes."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, f"it never came: {what}"
        time.sleep(0.02)


def problems_of(cell: Cell, ended: Ended) -> list[str]:
    """What is wrong with how a killed run ended; nothing if all is well."""
    found = []
    if ended.left_later:
        found.append(f"left when the next run had ended: {ended.left_later}")
    if ended.left_at_once and cell.number != signal.SIGKILL:
        found.append(f"left when it had ended: {ended.left_at_once}")
    if ended.next_code != 0:
        found.append(f"the next run failed: {ended.next_output[-1500:]}")
    if cell.number in (signal.SIGINT, signal.SIGTERM) and ended.code not in _codes(cell):
        found.append(f"exit {ended.code}: {ended.output[-1500:]}")
    if lost := ended.finished - ended.history.finished.keys():
        found.append(f"lost: {sorted(lost)}")
    goes_on = cell.target == "worker" and cell.number == signal.SIGKILL
    if goes_on and cell.moment not in ("start", "stopping") and not _is_complete(ended):
        found.append(f"the run did not go on: exit {ended.code}: {ended.output[-1500:]}")
    # A process that is killed while xdist starts a worker makes xdist itself end in a traceback.
    starting = cell.target == "run" or cell.moment == "start"
    told = not starting or cell.number != signal.SIGKILL
    # A worker whose starter goes before it said what to do ends in one of its own.
    output = ended.output.replace(_ORPHAN, "")
    if told and ("INTERNALERROR" in output or "Traceback" in output):
        found.append(f"a traceback: {ended.output[-3000:]}")
    return found


_ORPHAN = (
    'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n'
    '  File "<string>", line 0\n    \nSyntaxError: invalid syntax\n'
)
"""What Python says of the empty line that execnet's first statement in a worker then reads."""


def _is_complete(ended: Ended) -> bool:
    return (ended.code, len(ended.history.finished)) == (0, 6)


def _codes(cell: Cell) -> tuple[int, ...]:
    """The exit codes that an interrupted run may have."""
    if cell.moment == "stopping":  # the second signal can come when pytest has ended
        return 2, 130
    # At any moment includes the last one, and a worker that has not begun is only replaced.
    return (0, 2) if cell.moment == "any" or cell.target == "worker" else (2,)
