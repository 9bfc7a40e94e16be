"""Sessions on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from control_tower.errors import UsageProblem
from control_tower.live.sessions import (
    Session,
    SessionFolder,
    Sessions,
    check_name,
    default_name,
    why_dead,
)


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sessions:
    monkeypatch.setenv("CT_STATE_DIR", str(tmp_path / "state"))
    return Sessions()


def session(name: str = "one", **more: Any) -> Session:
    return Session(name=name, environment="shop", directory="/e", log_dir="/logs", **more)


def refusal(of: Any, *args: Any) -> str:
    with pytest.raises(UsageProblem) as caught:
        of(*args)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_session_is_found_by_its_name_and_as_the_current_one(sessions: Sessions) -> None:
    one = sessions.make(session("one", main_task="fix"))
    two = sessions.make(session("two"))
    assert [folder.name for folder in sessions.all()] == ["one", "two"]
    assert sessions.find("one").read() == one.read()
    assert sessions.find(None).name == "two"  # the newest
    sessions.switch(one)
    assert sessions.find(None).name == "one"
    one.remove()
    assert sessions.find(None).name == two.name  # the only one


def test_without_a_current_one_it_must_be_told_which(sessions: Sessions) -> None:
    for name in ("one", "two", "three"):
        sessions.make(session(name))
    sessions.find("three").remove()
    assert refusal(sessions.find, None).startswith("there are several live sessions: one, two;")
    assert "did you mean 'two'" in refusal(sessions.find, "tow")


def test_where_there_is_none_it_is_said_how_to_start_one(sessions: Sessions) -> None:
    assert "`ct live up`" in refusal(sessions.find, None)
    assert "`ct live up`" in refusal(sessions.find, "one")


def test_a_name_is_taken_once(sessions: Sessions) -> None:
    sessions.make(session("one"))
    assert "there is a session 'one' already" in refusal(sessions.make, session("one"))
    assert sessions.free_name("one") == "one-2"
    assert sessions.free_name("other") == "other"


@pytest.mark.parametrize("name", ["", "A", "../x", "a b", ".a", "x" * 61, "é"])
def test_what_cannot_name_a_session_is_refused(name: str) -> None:
    assert refusal(check_name, name).startswith(f"--name: '{name}' cannot name a session")


def test_names_by_default_can_be_names() -> None:
    assert default_name("shop", "fix", None) == "shop-fix"
    for parts in (("Shop", "Fix It", "ö"), ("x" * 99, "y", "z"), ("_", None, None)):
        check_name(default_name(*parts))


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
        "import os, sys; from pathlib import Path; from control_tower.live.sessions import *;"
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


def test_a_session_that_is_being_made_is_none_yet(sessions: Sessions) -> None:
    folder = sessions.make(session("one"))
    folder.path.rename(folder.path.with_name(".new-one"))
    assert sessions.all() == []


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
