"""Rules whose owner's directory was deleted: found, and lifted, and nobody else's touched."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.guarding import GuardingProcess, bridge_of, egress, rules_of
from support.networks import BASE

from control_tower.sandboxes.docker import host_rules
from control_tower.sandboxes.docker.engine import owner_value
from control_tower.sandboxes.docker.errand import ErrandFailed
from control_tower.sandboxes.docker.host_guard import bridge_prefix, guard_host
from control_tower.sandboxes.docker.host_rules import (
    StillNeeded,
    add_rules,
    owners_with_rules,
    remove_rules,
)
from control_tower.sandboxes.docker.leftovers import remove_ownerless
from control_tower.sandboxes.leftovers import remove_leftovers
from control_tower.sandboxes.owners import own_directory, state_root

pytestmark = [pytest.mark.docker, pytest.mark.slow]


@pytest.fixture
def living() -> Iterator[Path]:
    """Directory of another process that lives, and has rules."""
    process = GuardingProcess()
    yield process.directory
    assert len(rules_of(process.directory)) == 4
    process.end()


@pytest.fixture
def gone(living: Path) -> Iterator[Path]:
    """A directory that was deleted by hand; there are rules with its name."""
    directory = state_root() / "run-gone"
    directory.mkdir()
    guard_host(egress(), BASE, directory)
    shutil.rmtree(directory)
    yield directory
    remove_rules(owner_value(directory), [BASE], by=owner_value(own_directory()))


def line_of(owner: Path) -> str:
    return f"rules {bridge_prefix(owner)}+ of the host's firewall of a run that ended"


def unsaid(line: str) -> None:
    raise AssertionError(line)


def test_a_run_lifts_them_with_their_networks(gone: Path) -> None:
    with bridge_of(gone, labelled=True) as bridge:
        removed = remove_ownerless(stays=unsaid)
    assert removed == [f"network {bridge} of a run that ended", line_of(gone)]
    assert rules_of(gone) == []


def test_without_networks_they_are_lifted_when_they_are_searched_for(gone: Path) -> None:
    assert remove_leftovers() + remove_ownerless(stays=unsaid) == []
    assert len(rules_of(gone)) == 4
    assert remove_ownerless(search=True, stays=unsaid) == [line_of(gone)]
    assert rules_of(gone) == []
    assert remove_ownerless(search=True, stays=unsaid) == []


def test_they_stay_while_a_bridge_does_and_that_is_said(gone: Path) -> None:
    said: list[str] = []
    with bridge_of(gone, labelled=False):
        assert remove_ownerless(search=True, stays=said.append) == []
        assert len(rules_of(gone)) == 4
    [line] = said
    assert line.startswith(line_of(gone))
    assert line.endswith("stay: there are still bridges on the host that they are for")


def test_those_of_other_state_directories_and_machines_are_left_alone(
    gone: Path, tmp_path: Path
) -> None:
    others = [owner_value(tmp_path / "run-other"), f"another-machine:{gone}"]
    me = owner_value(own_directory())
    for other in others:
        add_rules(other, BASE)
    try:
        assert remove_ownerless(search=True, stays=unsaid) == [line_of(gone)]
        assert owners_with_rules([BASE], by=me) >= set(others)
    finally:
        removed = [remove_rules(other, [BASE], by=me) for other in others]
    assert removed == [4, 4]


def test_several_who_clean_at_once_do_not_fail(gone: Path) -> None:
    me = owner_value(own_directory())
    for _ in range(3):
        with ThreadPoolExecutor(4) as threads:
            every = [
                *threads.map(lambda _: remove_ownerless(search=True, stays=unsaid), range(4)),
                *threads.map(lambda _: remove_rules(owner_value(gone), [BASE], by=me), range(4)),
            ]
        assert [line_of(gone)] in every
        assert rules_of(gone) == []
        add_rules(owner_value(gone), BASE)


def test_a_firewall_that_cannot_be_looked_at_is_said(
    gone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_image(*_: object) -> str:
        raise ErrandFailed(1, "no image")

    said: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(host_rules, "_with_some_image", no_image)
        assert remove_ownerless(search=True, stays=said.append) == []
    assert said == ["the firewall of the engine's host cannot be looked at: no image"]


def test_names_are_read_as_they_were_written() -> None:
    name, me = 'a-machine:/it\'s a "state" \\directory/run-x', owner_value(own_directory())
    add_rules(name, BASE)
    try:
        assert name in owners_with_rules([BASE], by=me)
    finally:
        removed = remove_rules(name, ["no-such-image:1", BASE], by=me)
    assert removed == 4
    assert name not in owners_with_rules([BASE], by=me)


def test_rules_that_are_needed_are_not_touched(living: Path) -> None:
    with bridge_of(living, labelled=False), pytest.raises(StillNeeded):
        remove_rules(owner_value(living), [BASE], by=owner_value(own_directory()))
