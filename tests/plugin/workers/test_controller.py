"""The process that deals items out."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pytest_control_tower.workers.controller import still_runs


@pytest.fixture
def worker():
    """A process that ends when its standard input does."""
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process


def test_a_worker_that_works_still_runs(worker: subprocess.Popen[bytes]) -> None:
    assert still_runs(worker.pid)


def test_a_dead_one_does_not_even_if_nobody_has_asked_for_its_end(
    worker: subprocess.Popen[bytes],
) -> None:
    worker.kill()
    os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    assert not still_runs(worker.pid)
    worker.wait()
    assert not still_runs(worker.pid)
