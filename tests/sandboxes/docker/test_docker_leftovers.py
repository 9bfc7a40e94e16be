"""Containers and networks of runs that have ended without removing them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.containers import containers_of, things_of

from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.engine import (
    ENVIRONMENT_LABEL,
    OWNER_LABEL,
    engine,
    owner_value,
)
from control_tower.sandboxes.docker.leftovers import remove_owned, remove_ownerless
from control_tower.sandboxes.owners import state_root

pytestmark = [pytest.mark.docker, pytest.mark.slow]


@pytest.fixture
def image(config: DockerConfig) -> Iterator[str]:
    """Name of an image; what was made from it is gone afterwards."""
    model = json.loads(Path(config.compose_file).read_text())
    yield model["services"]["default"]["image"]
    with engine() as client:
        for name in containers_of("tiny"):
            client.containers.get(name).remove(force=True)
        for name in things_of("tiny"):
            client.networks.get(name).remove()


def leave(image: str, owner: str) -> str:
    """A container and a network of `owner`; the container's name."""
    labels = {OWNER_LABEL: owner, ENVIRONMENT_LABEL: "tiny"}
    with engine() as client:
        network = client.networks.create(f"tiny-{os.urandom(4).hex()}", labels=labels)
        container = client.containers.run(
            image, ["sleep", "infinity"], detach=True, labels=labels, network=network.name
        )
        return str(container.name)


def test_all_of_one_owner_is_removed_and_nothing_else(image: str, tmp_path: Path) -> None:
    dead, living = tmp_path / "run-dead", tmp_path / "run-living"
    leave(image, owner_value(dead))
    kept = leave(image, owner_value(living))
    removed = remove_owned(dead)
    assert removed is not None
    assert [line.split()[0] for line in removed] == ["container", "network"]
    assert containers_of("tiny") == [kept]
    assert len(things_of("tiny")) == 2


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
