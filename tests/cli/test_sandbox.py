"""`ct sandbox`: what is there, and removing what dead runs left."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.guarding import GuardingProcess, rules_of
from support.owners import told_directory

from control_tower.cli.main import main
from control_tower.sandboxes.docker.engine import owner_value
from control_tower.sandboxes.docker.errand import ErrandFailed
from control_tower.sandboxes.docker.host_guard import bridge_prefix
from control_tower.sandboxes.docker.leftovers import Holding
from control_tower.sandboxes.owners import own_directory

LEFTOVERS = "control_tower.sandboxes.docker.leftovers"
OWNER = """
import os, sys
from control_tower.sandboxes.owners import own_directory
print(own_directory(), flush=True)
sys.stdin.readline()
os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "state"
    monkeypatch.setenv("CT_STATE_DIR", str(path))
    return path


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody-listens.sock")


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> list[Holding]:
    """An engine that answers, and holds this; nothing, until a test puts something in."""
    held: list[Holding] = []
    removed = ["network n of a run that ended"]
    monkeypatch.setattr(f"{LEFTOVERS}.holdings", lambda: list(held))
    monkeypatch.setattr(f"{LEFTOVERS}.rules_held", list)
    monkeypatch.setattr(f"{LEFTOVERS}.remove_ownerless", lambda **_: removed)
    return held


class Owner:
    """Another process with a state directory."""

    def __init__(self) -> None:
        pipe: Any = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNER], stdin=pipe, stdout=pipe, text=True
        )
        self.directory = told_directory(self.process)

    def die(self) -> None:
        self.process.communicate("die\n")


@pytest.fixture
def owner() -> Iterator[Owner]:
    made = Owner()
    yield made
    made.process.kill()
    made.process.communicate()


def ct(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    assert main(["sandbox", *argv]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out.splitlines()


def holding(kind: Any, name: str, owner: str, *, alive: bool | None, **more: str) -> Holding:
    values = {"environment": "", "run": "", **more}
    return Holding(kind=kind, name=name, owner=owner, alive=alive, **values)


@pytest.mark.usefixtures("engine")
def test_nothing_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert ct(capsys, "list") == ["nothing"]


@pytest.mark.usefixtures("no_engine")
def test_without_an_engine_the_rest_is_listed(
    capsys: pytest.CaptureFixture[str], owner: Owner
) -> None:
    headings, line, last = ct(capsys, "list")
    assert headings.split()[:3] == ["kind", "name", "environment"]
    assert line.split()[:2] == ["directory", str(owner.directory)]
    assert f"process {owner.process.pid}" in line
    assert " alive " in line
    assert last == (
        "no Docker engine answers here: its containers, networks and volumes, and the rules of its "
        "host's firewall, are not listed"
    )


@pytest.mark.usefixtures("no_engine")
def test_only_what_the_dead_left_is_removed(
    capsys: pytest.CaptureFixture[str], owner: Owner
) -> None:
    mine = own_directory()
    [first] = ct(capsys, "clean")
    assert first == "no Docker engine answers here: what it holds of dead runs stays"
    assert owner.directory.is_dir()
    owner.die()
    [line] = [each for each in ct(capsys, "list") if str(owner.directory) in each]
    assert " dead " in line
    [removed, _] = ct(capsys, "clean")
    assert removed == (
        f"removed: directory {owner.directory} of a run that ended (process {owner.process.pid})"
    )
    assert not owner.directory.exists()
    assert mine.is_dir()


def test_what_the_engine_holds_is_listed_by_its_maker(
    capsys: pytest.CaptureFixture[str], engine: list[Holding], owner: Owner
) -> None:
    here = owner_value(owner.directory)
    engine += [
        holding("network", "n1", here, alive=True, environment="ledger", run="r1"),
        holding("container", "c1", here, alive=True, environment="ledger", run="r1"),
        holding("volume", "v1", "elsewhere:/x/run-1", alive=None),
    ]
    _, *lines = [line.split() for line in ct(capsys, "list")]
    kinds = [(line[0], line[1]) for line in lines]
    assert kinds == [
        ("directory", str(owner.directory)),
        ("volume", "v1"),
        ("container", "c1"),
        ("network", "n1"),
    ]
    assert lines[1][2:] == ["-", "-", "on", "elsewhere", "not", "known", "here", "-"]
    pid = str(owner.process.pid)
    assert lines[2][2:7] == ["ledger", "r1", "process", pid, "alive"]


@pytest.mark.usefixtures("engine")
def test_what_was_removed_in_the_engine_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert ct(capsys, "clean") == ["removed: network n of a run that ended"]


def test_what_dead_runs_of_another_state_directory_left_is_said_with_the_way_to_it(
    capsys: pytest.CaptureFixture[str],
    engine: list[Holding],
    owner: Owner,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(f"{LEFTOVERS}.remove_ownerless", lambda **_: [])
    other = tmp_path / "other state"
    engine += [
        holding("container", "c1", owner_value(other / "run-1"), alive=False),
        holding("volume", "v1", owner_value(other / "run-2"), alive=False),
        holding("volume", "v2", owner_value(other / "run-3"), alive=True),
        holding("volume", "v3", "elsewhere:/x/run-1", alive=None),
        holding("network", "n1", owner_value(owner.directory), alive=False),
    ]
    assert ct(capsys, "clean") == [
        f"2 more of dead runs, of the state directory {other}: "
        f"CT_STATE_DIR='{other}' ct sandbox clean"
    ]


def test_nothing_to_remove_is_said_so(
    capsys: pytest.CaptureFixture[str], engine: list[Holding], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{LEFTOVERS}.remove_ownerless", lambda **_: [])
    assert ct(capsys, "clean") == ["nothing to remove"]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("command", ["list", "clean"])
def test_a_firewall_that_cannot_be_looked_at_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def cannot() -> list[Holding]:
        raise ErrandFailed(1, "no image\nto look with")

    def remove_ownerless(*, search: bool, stays: Callable[[str], object]) -> list[str]:
        assert search
        stays("the firewall of the engine's host cannot be looked at: no image to look with")
        return []

    monkeypatch.setattr(f"{LEFTOVERS}.rules_held", cannot)
    monkeypatch.setattr(f"{LEFTOVERS}.remove_ownerless", remove_ownerless)
    [line] = ct(capsys, command)
    assert line == "the firewall of the engine's host cannot be looked at: no image to look with"


@pytest.mark.docker
@pytest.mark.slow
def test_rules_are_listed_one_line_for_each_owner_and_only_those_of_the_dead_are_removed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    living, killed, deleted = (GuardingProcess() for _ in range(3))
    processes = {"alive": living, "dead": killed, "gone": deleted}
    names = {name: f"{bridge_prefix(p.directory)}+" for name, p in processes.items()}
    try:
        killed.kill()
        deleted.kill()
        shutil.rmtree(deleted.directory)
        rules = [line.split() for line in ct(capsys, "list") if line.startswith("rules")]
        found = {line[1]: line for line in rules if line[1] in names.values()}
        assert len(rules) == len({line[1] for line in rules})
        assert "alive" in found[names["alive"]]
        assert "dead" in found[names["dead"]]
        assert found[names["gone"]][4:6] == ["unknown", "dead"]
        removed = ct(capsys, "clean")
        for name in ("dead", "gone"):
            what = f"rules {names[name]} of the host's firewall"
            assert f"removed: {what} of a run that ended" in removed
        assert len(removed) == 3, "and the directory of the killed one"
        assert len(rules_of(living.directory)) == 4
        assert rules_of(killed.directory, deleted.directory) == []
        assert ct(capsys, "clean") == ["nothing to remove"]
    finally:
        for process in processes.values():
            process.kill()
        main(["sandbox", "clean"])


@pytest.mark.parametrize("command", ["list", "clean"])
def test_a_state_directory_that_cannot_be_used_is_one_line(
    state: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    state.write_text("a file")
    assert main(["sandbox", command]) == 4
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"ct: error: ct sandbox {command}: ")
    assert str(state) in line
