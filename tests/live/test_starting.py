"""Taking a session down whose process does not do as it is told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from control_tower.live import starting
from control_tower.live.session import Session, SessionFolder
from control_tower.live.sessions import Sessions
from control_tower.live.starting import take_down

HOLD = """
import os, signal, sys
from pathlib import Path
from control_tower.live.session import SessionFolder, told_pid
if sys.argv[2] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
told_pid(SessionFolder(Path(sys.argv[1])).hold(), os.getpid())
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionFolder:
    monkeypatch.setenv("CT_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(starting, "_PATIENCE", 0.5)
    return Sessions().make(Session(name="one", environment="e", directory="/e", log_dir="/l"))


@pytest.fixture(params=["willing", "deaf"])
def process(
    folder: SessionFolder, request: pytest.FixtureRequest
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the session and answers nobody."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder.path), request.param],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_a_process_that_does_not_answer_is_ended(
    folder: SessionFolder, process: subprocess.Popen[bytes]
) -> None:
    assert take_down(folder) == "is down"
    assert process.wait(10) < 0
    assert Sessions().all() == []


def test_of_one_that_is_dead_the_record_goes(folder: SessionFolder) -> None:
    assert take_down(folder) == "was dead; what it left is removed"
    assert Sessions().all() == []
