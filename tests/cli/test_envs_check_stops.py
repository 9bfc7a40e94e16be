"""`ct envs check` that is told to stop, or whose pytest ends in another way than by its end."""

from __future__ import annotations

import os
import pty
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.kills import HEEDING
from support.sessions import ControlPytester

from pytest_control_tower.summary import EXIT_UNDECIDED

pytestmark = pytest.mark.slow

INT, TERM, HUP, QUIT = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT
DEADLINE = 120.0
"""Seconds after which a test gives up waiting; nothing depends on it when all is well."""
HOLDS = """
import os, time
open("pytest.part", "w").write(str(os.getpid()))
os.rename("pytest.part", "pytest.pid")
time.sleep(3600)
"""
"""A plugin that holds pytest where it imports its plugins."""
NOTES = """
import os, signal
wanted = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
open("pytest.part", "w").write(str(os.getpid()))
os.rename("pytest.part", "pytest.pid")
print("told:", signal.sigwait(wanted).name, *signal.sigpending(), flush=True)
os._exit(0)
"""
"""The same, until a signal comes; it notes that one, and what came besides."""


@dataclass
class Check:
    """`ct envs check mine/fresh --sandbox bwrap`, in a process group that it leads."""

    control: ControlPytester
    variables: dict[str, str] = field(default_factory=dict)
    ct: subprocess.Popen[str] | None = None
    children: set[int] = field(default_factory=set)

    def start(self, *before: str, **streams: int) -> subprocess.Popen[str]:
        """Start it, after the words `before`."""
        command = [sys.executable, "-m", "control_tower.cli", "envs", "check", "mine/fresh"]
        self.ct = subprocess.Popen(
            [*HEEDING, *before, *command, "--sandbox", "bwrap"],
            cwd=self.control.pytester.path,
            env={**os.environ, "PYTHONFAULTHANDLER": "1", **self.variables},
            text=True,
            process_group=0,
            **(streams or {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}),
        )
        return self.ct

    def hold(self, plugin: str) -> None:
        """Let pytest load a plugin of this text."""
        (self.control.pytester.path / "holds.py").write_text(plugin)
        self.variables["PYTEST_PLUGINS"] = "holds"
        path = [str(self.control.pytester.path), os.environ["PYTHONPATH"]]
        self.variables["PYTHONPATH"] = os.pathsep.join(path)

    def until(self, condition: Callable[[], object]) -> None:
        """Wait for what must come while it runs."""
        assert self.ct is not None
        end = time.monotonic() + DEADLINE
        while not condition():
            assert self.ct.poll() is None, f"it ended early: {self.ct.communicate()}"
            assert time.monotonic() < end, "it never came"
            time.sleep(0.02)
        self.children |= _children(self.ct.pid)

    def until_pytest_starts(self) -> int:
        """Wait until pytest imports the plugin; its pid."""
        file = self.control.pytester.path / "pytest.pid"
        self.until(file.exists)
        return int(file.read_text())

    def ended(self) -> tuple[str, str]:
        """Wait for its end, by which pytest is gone too; what it printed."""
        assert self.ct is not None
        try:
            said = self.ct.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            for pid in self.children:
                os.kill(pid, signal.SIGABRT)  # at which Python says where it is
            said = self.ct.communicate(timeout=DEADLINE)
            raise AssertionError(f"it did not end: {said}") from None
        assert [pid for pid in self.children if _state(pid)] == [], said
        return said

    def clean_up(self) -> None:
        """Kill what a failed test leaves."""
        if self.ct is not None:
            left = self.children | (_children(self.ct.pid) if self.ct.poll() is None else set())
            for pid in (*left, *([self.ct.pid] if self.ct.poll() is None else [])):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.ct.communicate()


@pytest.fixture
def check(control: ControlPytester) -> Iterator[Check]:
    """A check of an environment that `ct envs new` makes."""
    assert control.ct("envs", "new", "fresh", "--in", "mine").ret == 0
    made = Check(control)
    yield made
    made.clean_up()


@pytest.fixture
def sleeps(check: Check) -> str:
    """The command line of the set-up of the environment's main task, which never ends."""
    command = f"sleep 3600.{secrets.randbelow(10**12):012}7"
    task = check.control.pytester.path / "mine" / "fresh" / "main_tasks" / "missing_name"
    (task / "setup.sh").write_text(f"{command}\n")
    return command


def assert_stopped(check: Check, out: str, err: str, words: str) -> None:
    assert check.ct is not None
    assert check.ct.returncode == 2, out + err
    assert [line for line in err.splitlines() if line.startswith("ct: ")] == [f"ct: error: {words}"]
    assert "===== noop =====" in out
    assert "===== reference =====" not in out
    assert "===== what does" not in out
    assert "Traceback" not in out + err


@pytest.mark.parametrize("to_all", [False, True], ids=["ct", "group"])
@pytest.mark.parametrize("number", [INT, TERM, HUP])
def test_a_signal_ends_pytest_in_order_once(
    check: Check, sleeps: str, number: signal.Signals, to_all: bool
) -> None:
    ct = check.start()
    check.until(lambda: _running(sleeps))
    (os.killpg if to_all else os.kill)(ct.pid, number)
    out, err = check.ended()
    assert_stopped(check, out, err, f"stopped by {number.name}")
    assert "cancelled: fresh/missing_name/" in out
    told = "SIGTERM" if number is INT else number.name
    assert out.count(f"! KeyboardInterrupt: {told} !") == 1
    assert not _running(sleeps)


@pytest.mark.parametrize("to_all", [False, True], ids=["ct", "group"])
@pytest.mark.parametrize(("number", "told"), [(INT, TERM), (TERM, TERM), (HUP, HUP)])
def test_pytest_is_told_once_whoever_got_the_signal(
    check: Check, number: signal.Signals, told: signal.Signals, to_all: bool
) -> None:
    check.hold(NOTES)
    ct = check.start()
    check.until_pytest_starts()
    (os.killpg if to_all else os.kill)(ct.pid, number)
    out, err = check.ended()
    assert_stopped(check, out, err, f"stopped by {number.name}")
    assert [line for line in out.splitlines() if "told:" in line] == [f"told: {told.name}"]


def test_a_second_signal_is_not_passed_on(check: Check, sleeps: str) -> None:
    ct = check.start()
    check.until(lambda: _running(sleeps))
    ct.send_signal(INT)
    ct.send_signal(INT)
    ct.send_signal(TERM)
    out, err = check.ended()
    assert "cancelled: fresh/missing_name/" in out
    assert "Traceback" not in out + err
    assert ct.returncode == 2
    assert not _running(sleeps)


def test_ctrl_c_at_a_terminal_that_stops_who_prints_in_the_background(
    check: Check, sleeps: str
) -> None:
    ours, theirs = pty.openpty()
    subprocess.run(["stty", "tostop"], stdin=theirs, check=True)
    ct = check.start("setsid", "--ctty", "--wait", stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown: list[bytes] = []
    reader = threading.Thread(target=_read, args=(ours, shown))
    reader.start()
    check.until(lambda: _running(sleeps))
    os.write(ours, b"\x03")
    assert ct.wait(DEADLINE) == 2
    reader.join(DEADLINE)
    os.close(ours)
    screen = b"".join(shown).decode()
    assert "control tower: policy noop" in screen
    assert screen.count("! KeyboardInterrupt: SIGTERM !") == 1
    assert screen.rstrip().endswith("ct: error: stopped by SIGINT")
    assert "===== reference =====" not in screen
    assert not _running(sleeps)


@pytest.mark.parametrize("number", [INT, TERM, HUP, QUIT])
def test_a_signal_while_pytest_starts_leaves_no_traceback(
    check: Check, number: signal.Signals
) -> None:
    check.hold(HOLDS)
    ct = check.start()
    check.until_pytest_starts()
    os.killpg(ct.pid, number)
    out, err = check.ended()
    assert_stopped(check, out, err, f"stopped by {number.name}")


def test_a_signal_that_is_ignored_stays_so(check: Check) -> None:
    check.hold(HOLDS)
    ct = check.start("env", "--ignore-signal=HUP")
    check.until_pytest_starts()
    ct.send_signal(HUP)
    ct.send_signal(TERM)
    out, err = check.ended()
    assert_stopped(check, out, err, "stopped by SIGTERM")


def test_ctrl_z_holds_both_and_they_go_on_together(check: Check) -> None:
    check.hold(HOLDS)
    ct = check.start()
    pid = check.until_pytest_starts()
    ct.send_signal(signal.SIGTSTP)
    check.until(lambda: (_state(ct.pid), _state(pid)) == ("T", "T"))
    ct.send_signal(signal.SIGCONT)
    check.until(lambda: "T" not in (_state(ct.pid), _state(pid)))
    ct.send_signal(TERM)
    out, err = check.ended()
    assert_stopped(check, out, err, "stopped by SIGTERM")


@pytest.mark.parametrize("code", [2, 3, 4, 6, 77])
def test_an_exit_code_without_results_is_said(check: Check, code: int) -> None:
    check.hold(f"import os\nos._exit({code})\n")
    check.start()
    assert_stopped(check, *check.ended(), f"pytest ended with exit code {code}")


def test_a_pytest_that_is_killed_is_said(check: Check) -> None:
    check.hold(HOLDS)
    check.start()
    os.kill(check.until_pytest_starts(), signal.SIGKILL)
    assert_stopped(check, *check.ended(), "pytest ended with signal 9")


@pytest.mark.parametrize("code", [0, 1, 5, EXIT_UNDECIDED])
def test_after_the_other_exit_codes_there_is_a_report(check: Check, code: int) -> None:
    check.hold(f"import os\nos._exit({code})\n")
    ct = check.start()
    out, _ = check.ended()
    assert ct.returncode == 1
    assert "===== what does, and does not, hold =====" in out
    assert "4 of the samples were not run" in out


def _read(terminal: int, shown: list[bytes]) -> None:
    """Take what is printed to a terminal until nobody has it open."""
    with suppress(OSError):
        while data := os.read(terminal, 4096):
            shown.append(data)


def _running(command: str) -> bool:
    """Whether a process, in whatever sandbox, has this command line."""
    wanted = b"\0".join(word.encode() for word in command.split()) + b"\0"
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if path.read_bytes() == wanted:
                return True
    return False


def _children(parent: int) -> set[int]:
    with suppress(OSError):
        words = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return {int(word) for word in words}
    return set()


def _state(pid: int) -> str:
    """The letter for a process's state, as in `ps`; empty if it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""
