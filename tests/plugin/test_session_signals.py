"""Ctrl-C and kills in the middle of a run, in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.environments import main_task
from support.sessions import ControlPytester

DEADLINE = 300.0
"""Seconds after which a test gives up waiting; nothing depends on it when all is well."""

MIXED = (
    "--ct-just-main-tasks",
    "--ct-untrusted-policy=support.policies:sleeps_in",
    "--ct-untrusted-policy-arg=slow=[slow]",
    "--ct-assert=none",
)


@pytest.fixture
def mixed(control: ControlPytester) -> ControlPytester:
    """Two quick samples around one that never ends by itself."""
    names = ("a_quick", "slow", "z_quick")
    control.environment(main={name: main_task() for name in names}, side={})
    return control


@pytest.fixture
def heeded() -> Iterator[None]:
    """Signals that whoever started the tests ignores (nohup, a shell's background) are not here."""
    ours = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in ours.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def started(mixed: ControlPytester, heeded: None) -> Iterator[subprocess.Popen[str]]:
    """The run, at a moment when both quick samples are done and the slow one works."""
    process = subprocess.Popen(
        mixed.subprocess_args(*MIXED, f"--ct-untrusted-policy-arg=seconds={_seconds(mixed)}", "-v"),
        cwd=mixed.pytester.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        _until(lambda: len(mixed.trajectories()) == 2, process)
        _until(lambda: bool(_processes_of(mixed)), process)
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.slow
def test_ctrl_c_reports_what_is_done_and_leaves_nothing(
    mixed: ControlPytester, started: subprocess.Popen[str]
) -> None:
    started.send_signal(signal.SIGINT)
    output, _ = started.communicate(timeout=DEADLINE)
    assert started.returncode == 2, output
    assert "control::test_sample[mini/a_quick/-] PASSED" in output
    assert "control::test_sample[mini/z_quick/-] PASSED" in output
    assert "cancelled: mini/slow/-" in output
    assert "Traceback" not in output
    assert _log_status(mixed) == "cancelled"
    assert not _processes_of(mixed)
    assert not _sandbox_directories(mixed)


LOSES_IT = """
import os, signal
from pytest_control_tower.progress import ProgressLine

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

def show(self, then=ProgressLine._show):
    if not os.path.exists("told"):
        open("told", "w").close()
        Finalized()
    then(self)

ProgressLine._show = show
"""
"""A plugin in which the signal comes when a finalizer runs, which drops interrupts."""


@pytest.mark.slow
def test_a_signal_that_a_finalizer_dropped_ends_the_run_all_the_same(
    mixed: ControlPytester, heeded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (mixed.pytester.path / "loses.py").write_text(LOSES_IT)
    monkeypatch.setenv("PYTHONPATH", str(mixed.pytester.path), prepend=os.pathsep)
    seconds = f"--ct-untrusted-policy-arg=seconds={_seconds(mixed)}"
    args = mixed.subprocess_args(*MIXED, seconds, "-v", "-p", "loses")
    result = mixed.pytester.run(*args, timeout=DEADLINE)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*KeyboardInterrupt: SIGTERM*"])
    assert not _processes_of(mixed)
    assert not _sandbox_directories(mixed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (signal.SIGINT, signal.SIGINT),
        (signal.SIGINT, signal.SIGTERM),
        (signal.SIGTERM, signal.SIGTERM),
        (signal.SIGHUP, signal.SIGTERM),
    ],
)
def test_a_second_signal_does_not_leave_the_sandboxes(
    mixed: ControlPytester,
    started: subprocess.Popen[str],
    first: signal.Signals,
    second: signal.Signals,
) -> None:
    started.send_signal(first)
    time.sleep(0.2)  # for the second to come during the stop; either moment must end well
    started.send_signal(second)
    output, _ = started.communicate(timeout=DEADLINE)
    assert started.returncode == 2, output
    assert not _processes_of(mixed)
    assert not _sandbox_directories(mixed)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_terminate_is_an_interrupt(
    mixed: ControlPytester, started: subprocess.Popen[str], number: signal.Signals
) -> None:
    started.send_signal(number)
    output, _ = started.communicate(timeout=DEADLINE)
    assert started.returncode == 2, output
    assert f"KeyboardInterrupt: {number.name}" in output
    assert "control::test_sample[mini/z_quick/-] PASSED" in output
    assert _log_status(mixed) == "cancelled"
    assert not _processes_of(mixed)
    assert not _sandbox_directories(mixed)


@pytest.mark.slow
def test_after_sigkill_processes_die_and_the_next_run_removes_the_rest(
    mixed: ControlPytester, started: subprocess.Popen[str]
) -> None:
    started.send_signal(signal.SIGKILL)
    started.communicate(timeout=DEADLINE)
    _until(lambda: not _processes_of(mixed), None)
    assert _sandbox_directories(mixed)
    result = subprocess.run(
        mixed.subprocess_args("--ct-main-task=a_quick", "--ct-untrusted-policy=noop"),
        cwd=mixed.pytester.path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert not _sandbox_directories(mixed)


def _log_status(control: ControlPytester) -> str:
    from inspect_ai.log import read_eval_log

    (log,) = control.logs()
    return read_eval_log(str(log)).status


def _seconds(control: ControlPytester) -> str:
    """How long this test's sandboxed process sleeps: a number that no other test has."""
    return f"3600.{zlib.crc32(str(control.pytester.path).encode()):010}7"  # no trailing zero


def _processes_of(control: ControlPytester) -> list[int]:
    """Ids of the live processes that sleep in this test's sandboxes, as the host sees them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            arguments = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if arguments[:2] == [b"sleep", _seconds(control).encode()]:
            found.append(int(path.parent.name))
    return found


def _sandbox_directories(control: ControlPytester) -> list[Path]:
    state = control.pytester.path / "state"
    return [path for path in state.rglob("*") if path.is_dir()] if state.exists() else []


def _until(condition: Callable[[], bool], process: subprocess.Popen[str] | None) -> None:
    end = time.monotonic() + DEADLINE
    while not condition():
        if process is not None and process.poll() is not None:
            pytest.fail(f"the run ended early:\n{process.communicate()[0]}")
        if time.monotonic() > end:
            pytest.fail("the condition never came true")
        time.sleep(0.05)
