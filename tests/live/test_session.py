"""One session on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.live import refusal, session

from control_tower.live.session import SessionFolder, why_dead
from control_tower.live.sessions import Sessions


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 1}', '{"version": 9}'])
def test_a_broken_file_says_how_to_remove_the_session(sessions: Sessions, text: str) -> None:
    folder = sessions.make(session("one"))
    (folder.path / "session.json").write_text(text)
    message = refusal(folder.read)
    assert message.startswith("session 'one' is broken (")
    assert message.endswith("; `ct live down one` removes it")
    folder.remove()
    assert sessions.all() == []


def test_a_session_is_held_as_long_as_its_process_lives(sessions: Sessions) -> None:
    folder = sessions.make(session())
    assert not folder.is_held()
    assert folder.holder() is None
    code = (
        "import os, sys; from pathlib import Path; from control_tower.live.session import *;"
        "told_pid(SessionFolder(Path(sys.argv[1])).hold(), os.getpid());"
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(folder.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        assert folder.is_held()
        assert folder.holder() == process.pid
        with pytest.raises(OSError, match="temporarily"):
            folder.hold()
        process.kill()
        process.wait()
    assert not folder.is_held()


@pytest.mark.parametrize(
    ("more", "log", "reason"),
    [
        ({"state": "up"}, "", "its process has ended"),
        ({"state": "up"}, "a\nKilled\n\n", "its process has ended; it said last: Killed"),
        ({"note": "setting up"}, "", "its process has ended while it was at 'setting up'"),
        ({"state": "failed", "note": "no luck"}, "x", "no luck"),
        ({"state": "up", "created": 1.0}, "", "the machine was started again"),
    ],
)
def test_why_a_session_is_dead(
    sessions: Sessions, more: dict[str, Any], log: str, reason: str
) -> None:
    folder = sessions.make(session("one", **more))
    (folder.path / "server.log").write_text(log)
    assert why_dead(folder, folder.read()) == reason


def test_the_folder_of_its_socket_goes_with_it(sessions: Sessions, tmp_path: Path) -> None:
    place = tmp_path / "ct-live-x"
    place.mkdir()
    folder = sessions.make(session(socket=str(place / "s")))
    folder.remove()
    assert not place.exists()


@pytest.mark.parametrize("socket", ["", "s", "/", "other/s"])
def test_no_other_folder_goes_with_it(
    sessions: Sessions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, socket: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    SessionFolder(sessions.make(session(socket=socket)).path).remove()
    assert (tmp_path / "other").is_dir()
    assert os.listdir(tmp_path)
