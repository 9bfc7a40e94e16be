"""Rules on the engine's host: made when they are needed, and gone with their owner."""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from requests.exceptions import ReadTimeout
from support.guarding import GuardingProcess, bridge_of, egress, rules_of
from support.networks import BASE, docker

from control_tower.sandboxes.docker import host_guard, host_rules
from control_tower.sandboxes.docker.compose import Model
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.engine import owner_value
from control_tower.sandboxes.docker.host_guard import (
    REACHABLE,
    bridge_prefix,
    guard_host,
    has_guard,
    lift_guard,
)
from control_tower.sandboxes.errors import SandboxRefused
from control_tower.sandboxes.leftovers import remove_leftovers
from control_tower.sandboxes.owners import LOCK, OUTSTANDING, own_directory, state_root


def closed(**options: str) -> Model:
    return {"services": {}, "networks": {"default": {"internal": True, "driver_opts": options}}}


@pytest.fixture
def owner() -> Iterator[Path]:
    """This process's directory; its rules are gone afterwards."""
    own = own_directory()
    yield own
    assert lift_guard(own)


@pytest.fixture
def process() -> Iterator[GuardingProcess]:
    """Another process with rules; they are gone afterwards."""
    made = GuardingProcess()
    yield made
    made.kill()
    remove_leftovers()
    assert not made.directory.exists()


@pytest.mark.docker
@pytest.mark.slow
def test_rules_are_made_once_and_lifted(owner: Path) -> None:
    for _ in range(2):
        guard_host(egress(), BASE, owner)
    rules = rules_of(owner)
    chains = [rule.split()[1] for rule in rules]
    assert chains == ["PREROUTING", "INPUT", "FORWARD", "PREROUTING"]
    assert all(f"-i {bridge_prefix(owner)}+" in rule for rule in rules)
    assert all(rule.endswith("-j DROP") for rule in rules)
    assert lift_guard(owner)
    assert rules_of(owner) == []
    assert lift_guard(owner), "with nothing to lift"


@pytest.mark.docker
@pytest.mark.slow
def test_they_are_made_again_when_they_were_lifted(owner: Path) -> None:
    guard_host(egress(), BASE, owner)
    lift_guard(owner)
    guard_host(egress(), BASE, owner)
    assert len(rules_of(owner)) == 4


@pytest.mark.docker
@pytest.mark.slow
def test_they_stay_while_there_is_a_bridge_that_they_are_for(owner: Path) -> None:
    guard_host(egress(), BASE, owner)
    with bridge_of(owner, labelled=False):
        assert not lift_guard(owner)
        assert len(rules_of(owner)) == 4


@pytest.mark.docker
@pytest.mark.slow
def test_a_run_that_cannot_lift_them_says_so_and_leaves_its_directory_to_the_next(
    process: GuardingProcess,
) -> None:
    with bridge_of(process.directory, labelled=True) as bridge:
        said = process.end()
        assert "rules of the host's firewall are left to the next run: there are still" in said
        assert len(rules_of(process.directory)) == 4
        removed = remove_leftovers()
    assert removed[0] == f"network {bridge} of a run that ended"
    assert removed[1].startswith(f"rules {bridge_prefix(process.directory)}+ of the host's")
    assert removed[2].startswith(f"directory {process.directory} ")
    assert rules_of(process.directory) == []


@pytest.mark.docker
@pytest.mark.slow
def test_a_run_that_lifts_them_at_its_end_says_nothing_and_leaves_nothing(
    process: GuardingProcess,
) -> None:
    assert len(rules_of(process.directory)) == 4
    assert process.end() == ""
    assert not process.directory.exists()
    assert rules_of(process.directory) == []


@pytest.mark.docker
@pytest.mark.slow
def test_those_of_a_killed_run_stay_with_its_directory_while_a_bridge_does(
    process: GuardingProcess, owner: Path
) -> None:
    guard_host(egress(), BASE, owner)
    process.kill()
    said: list[str] = []
    with bridge_of(process.directory, labelled=False):
        assert remove_leftovers(stays=said.append) == []
        assert len(rules_of(process.directory)) == 4
    [line] = said
    assert line.startswith(f"directory {process.directory} of a run that ended stays: rules ct")
    assert line.endswith("there are still bridges on the host that they are for")
    assert len(remove_leftovers()) == 2
    assert rules_of(process.directory) == []
    assert len(rules_of(owner)) == 4, "this process lives"


@pytest.mark.docker
@pytest.mark.slow
def test_those_of_a_killed_run_are_lifted_with_another_image_when_theirs_is_gone(
    process: GuardingProcess, config: DockerConfig
) -> None:
    assert config.problem is None, "an image of ours is there"
    process.kill()
    [file] = process.directory.glob(f"host_guard{OUTSTANDING}")
    file.write_text("no-such-image:1")
    assert len(remove_leftovers()) == 2
    assert rules_of(process.directory) == []


@pytest.mark.docker
@pytest.mark.slow
def test_a_killed_run_s_are_said_to_stay_when_there_is_no_image_to_lift_them_with(
    process: GuardingProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    process.kill()
    [file] = process.directory.glob(f"host_guard{OUTSTANDING}")
    file.write_text("no-such-image:1")
    said: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(host_rules, "_BUILT", re.compile("no image"))
        assert remove_leftovers(stays=said.append) == []
    assert [line.rpartition(": ")[2] for line in said] == [
        "the engine has no image of an environment with the program chroot"
    ]
    file.write_text(BASE)


@pytest.mark.docker
@pytest.mark.slow
def test_those_of_a_killed_run_are_removed_by_the_next() -> None:
    dead = state_root() / "run-dead"
    dead.mkdir()
    (dead / LOCK).write_text("4711")
    guard_host(egress(), BASE, dead)
    assert rules_of(dead)
    remove_leftovers()
    assert not dead.exists()
    assert rules_of(dead) == []


@pytest.mark.docker
@pytest.mark.slow
def test_those_whose_owner_left_no_directory_are_removed_by_the_next_who_makes_some(
    owner: Path,
) -> None:
    gone, living = state_root() / "run-gone", state_root() / "run-living"
    for directory in (gone, living):
        directory.mkdir()
        guard_host(egress(), BASE, directory)
    shutil.rmtree(gone)
    guard_host(egress(), BASE, owner)
    assert rules_of(gone) == []
    assert len(rules_of(living)) == 4
    assert lift_guard(living)


@pytest.mark.docker
@pytest.mark.slow
def test_two_owners_rules_do_not_touch_each_other(owner: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    guard_host(egress(), BASE, owner)
    guard_host(egress(), BASE, other)
    assert lift_guard(other)
    assert len(rules_of(owner)) == 4


@pytest.mark.docker
@pytest.mark.slow
def test_nothing_is_done_for_models_that_are_not_guarded(owner: Path) -> None:
    guard_host(closed(), "no-such-image:1", owner)
    guard_host({"services": {}}, "no-such-image:1", owner)
    assert not has_guard(owner)


@pytest.mark.docker
@pytest.mark.slow
def test_what_cannot_be_guarded_is_refused_in_one_line(owner: Path) -> None:
    with pytest.raises(SandboxRefused) as caught:
        guard_host(egress(), "no-such-image:1", owner)
    said = str(caught.value)
    assert said.startswith("the host cannot be kept from agents with internet")
    assert "no-such-image:1" in said and REACHABLE in said and "\n" not in said


@pytest.mark.docker
@pytest.mark.slow
def test_unless_the_user_says_that_the_host_may_be_reached(
    owner: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(REACHABLE, "1")
    with caplog.at_level(logging.WARNING, "control_tower.sandboxes"):
        guard_host(egress(), "no-such-image:1", owner)
    assert any("agents can reach services of the host" in line for line in caplog.messages)


@pytest.mark.parametrize(
    ("info", "words"),
    [
        ({"SecurityOptions": ["name=seccomp", "name=rootless"]}, "rootless"),
        ({"OperatingSystem": "Docker Desktop"}, "virtual machine"),
    ],
)
def test_hosts_that_are_outside_of_the_engine_s_network_are_refused_with_internet(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, info: dict[str, Any], words: str
) -> None:
    monkeypatch.setattr(
        host_guard, "engine", lambda: nullcontext(SimpleNamespace(info=lambda: info))
    )
    with pytest.raises(SandboxRefused, match=words):
        guard_host(egress(), BASE, tmp_path)
    assert not has_guard(tmp_path)


def test_names_of_bridges_leave_room_for_an_ending(tmp_path: Path) -> None:
    prefixes = {bridge_prefix(tmp_path / name) for name in ("a", "b")}
    assert len(prefixes) == 2
    assert {len(prefix) for prefix in prefixes} == {7}


@pytest.mark.docker
@pytest.mark.slow
def test_a_host_without_iptables_is_refused_and_nothing_stays(
    owner: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = "iptables() { echo there is none >&2; return 127; }\nip6tables() { return 1; }\n"
    monkeypatch.setattr(host_rules, "_PREPARED", broken)
    with pytest.raises(SandboxRefused, match=r"cannot be made \(there is none"):
        guard_host(egress(), BASE, owner)
    labels = f"label=control-tower.owner={owner_value(owner)}"
    assert docker("ps", "-aq", "--filter", labels) == ""


def test_rules_that_were_not_made_are_not_believed_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_answer(*_: object) -> str:
        raise ReadTimeout("read timed out")

    silent = SimpleNamespace(api=SimpleNamespace(images=no_answer))
    monkeypatch.setattr(host_guard, "_unguardable", lambda: None)
    monkeypatch.setattr(host_rules, "engine", lambda: nullcontext(silent))
    monkeypatch.setattr(host_rules, "_on_host", no_answer)
    for _ in range(2):
        with pytest.raises(SandboxRefused, match=r"cannot be made \(read timed out"):
            guard_host(egress(), BASE, tmp_path)
    shutil.rmtree(tmp_path)  # so that this process's end looks for no rules
