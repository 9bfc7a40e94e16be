"""Containers and networks of runs that have ended without removing them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError
from support.containers import containers_of, things_of

from control_tower.sandboxes.docker import leftovers
from control_tower.sandboxes.docker.blueprint import Blueprint
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.engine import (
    ENVIRONMENT_LABEL,
    OWNER_LABEL,
    RUN_LABEL,
    SAMPLE_LABEL,
    engine,
    owner_value,
)
from control_tower.sandboxes.docker.leftovers import (
    Holding,
    Kind,
    Removal,
    holdings,
    remove_owned,
    remove_ownerless,
)
from control_tower.sandboxes.docker.reach import BRIDGE_NAME
from control_tower.sandboxes.owners import own_directory, state_root

pytestmark = [pytest.mark.docker, pytest.mark.slow]


@pytest.fixture
def image(config: DockerConfig) -> Iterator[str]:
    """Name of an image; what was made from it is gone afterwards."""
    blueprint = Blueprint.model_validate_json(Path(config.blueprint).read_text())
    yield blueprint.services[0].body["Image"]
    with engine() as client:
        for name in containers_of("tiny"):
            client.containers.get(name).remove(force=True)
        for name in things_of("tiny"):
            if name in [network.name for network in client.networks.list()]:
                client.networks.get(name).remove()
            else:
                client.volumes.get(name).remove()


def leave(image: str, owner: str) -> str:
    """A container, a network and a volume of `owner`; the container's name."""
    labels = {OWNER_LABEL: owner, ENVIRONMENT_LABEL: "tiny", RUN_LABEL: "r", SAMPLE_LABEL: "s"}
    name = f"tiny-{os.urandom(4).hex()}"
    with engine() as client:
        client.networks.create(name, labels=labels)
        client.volumes.create(name, labels=labels)
        client.containers.run(
            image,
            ["sleep", "infinity"],
            name=name,
            detach=True,
            labels=labels,
            network=name,
            volumes={name: {"bind": "/data"}},
        )
        return name


def test_all_of_one_owner_is_removed_and_nothing_else(image: str, tmp_path: Path) -> None:
    dead, living = tmp_path / "run-dead", tmp_path / "run-living"
    leave(image, owner_value(dead))
    kept = leave(image, owner_value(living))
    done = remove_owned(dead)
    assert done is not None
    assert done.stays is None
    assert [line.split()[0] for line in done.removed] == ["container", "network", "volume"]
    assert things_of("tiny") == [kept] * 3


def test_what_has_no_container_any_more_is_removed_too(image: str, tmp_path: Path) -> None:
    labels = {OWNER_LABEL: owner_value(tmp_path / "run-dead"), ENVIRONMENT_LABEL: "tiny"}
    with engine() as client:
        client.volumes.create(f"tiny-{os.urandom(4).hex()}", labels=labels)
    done = remove_owned(tmp_path / "run-dead")
    assert done is not None
    assert [line.split()[0] for line in done.removed] == ["volume"]
    assert things_of("tiny") == []


def test_what_belongs_to_a_directory_that_is_gone_is_removed(
    image: str, state: Path, tmp_path: Path
) -> None:
    there = state_root() / "run-there"
    there.mkdir()
    leave(image, owner_value(state_root() / "run-gone"))
    elsewhere = leave(image, f"another-machine:{state_root()}/run-gone")
    somebody_s = leave(image, owner_value(tmp_path / "run-of-somebody"))
    kept = leave(image, owner_value(there))
    remove_ownerless()
    assert containers_of("tiny") == sorted([kept, elsewhere, somebody_s])


def test_what_is_there_is_told_with_whether_its_owner_lives(image: str, tmp_path: Path) -> None:
    living, dead = owner_value(own_directory()), owner_value(tmp_path / "run-dead")
    other = f"another-machine:{tmp_path}/run-x"
    names = {owner: leave(image, owner) for owner in (living, dead, other)}
    found = {
        (held.kind, held.name): held for held in holdings() if held.owner in (living, dead, other)
    }
    kinds: tuple[Kind, ...] = ("container", "network", "volume")
    for owner, alive in ((living, True), (dead, False), (other, None)):
        for kind in kinds:
            held = found.pop((kind, names[owner]))
            assert held == Holding(kind, names[owner], owner, "tiny", "r", alive)
    assert found == {}


def test_the_firewall_is_not_looked_at_without_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def looked(*_: object, **__: object) -> None:
        raise AssertionError

    @contextmanager
    def without_guarded_networks() -> Iterator[Any]:
        labels = {OWNER_LABEL: "a-machine:/run-1"}
        networks = [
            {"Labels": labels, "Options": options} for options in (None, {}, {BRIDGE_NAME: "br0"})
        ]
        yield SimpleNamespace(api=SimpleNamespace(networks=lambda filters: networks))

    own_directory()
    monkeypatch.setattr(leftovers, "owners_with_rules", looked)
    monkeypatch.setattr(leftovers, "engine", without_guarded_networks)
    assert leftovers.rules_held() == []


def test_what_the_engine_cannot_remove_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuses(*_: object) -> list[str]:
        raise APIError("driver failed to remove root filesystem")

    monkeypatch.setattr(leftovers, "_remove", refuses)
    done = remove_owned(tmp_path / "run-dead")
    assert done == Removal((), "driver failed to remove root filesystem")
