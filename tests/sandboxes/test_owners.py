"""Whose directory is whose, and whether its owner lives."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from support.owners import told_directory

from control_tower.sandboxes.owners import (
    directories_of_the_dead,
    is_alive,
    is_gone,
    own_directory,
    remove_tree,
    state_root,
)

OWN = "from control_tower.sandboxes.owners import own_directory; print(own_directory(), flush=True)"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT_STATE_DIR", str(tmp_path / "state"))


def test_a_process_is_alive_until_it_is_killed_and_looking_claims_nothing() -> None:
    command = [sys.executable, "-c", f"{OWN}; input()"]
    pipe: Any = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        directory = told_directory(process)
        assert is_alive(directory)
        process.kill()
    assert directory.is_dir()
    assert not is_alive(directory)
    assert list(directories_of_the_dead()) == [directory]


def test_who_looks_at_a_directory_keeps_nobody_from_claiming_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    directory = state_root() / "run-dead"
    directory.mkdir()
    (directory / "lock").touch()
    claimed: list[Path] = []
    claims = threading.Thread(target=lambda: claimed.extend(directories_of_the_dead()))
    flock = fcntl.flock

    def locks_and_waits(file: int, how: int) -> None:
        flock(file, how)
        if how & fcntl.LOCK_SH:
            claims.start()
            claims.join(0.5)  # it ends at once where it need not wait for the one that looks

    monkeypatch.setattr(fcntl, "flock", locks_and_waits)
    assert not is_alive(directory)
    claims.join()
    assert claimed == [directory]


def test_this_process_is_alive() -> None:
    assert is_alive(own_directory())


def test_what_is_no_owner_s_directory_is_not(tmp_path: Path) -> None:
    assert not is_alive(tmp_path)
    assert not is_alive(tmp_path / "gone")


def test_a_directory_that_says_that_something_is_outstanding_outlives_its_process() -> None:
    keeps = "import pathlib; (pathlib.Path(own_directory()) / 'x.outstanding').touch()"
    for more, stays in ((keeps, True), ("pass", False)):
        command = [sys.executable, "-c", f"{OWN}; {more}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        directory = Path(done.stdout.strip())
        assert directory.is_dir() is stays
        assert (directory in list(directories_of_the_dead())) is stays


def test_gone_are_owners_directories_of_this_state_directory_only(tmp_path: Path) -> None:
    root = state_root()
    assert is_gone(root / "run-1")
    assert not is_gone(own_directory())
    assert not is_gone(root / "another")
    assert not is_gone(tmp_path / "run-1")


@pytest.mark.parametrize("path", ["", ".", "some/folder"])
def test_a_relative_path_is_never_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    (tmp_path / "some" / "folder").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="relative path"):
        remove_tree(Path(path))
    assert (tmp_path / "some" / "folder").is_dir()
