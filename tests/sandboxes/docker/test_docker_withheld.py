"""Whether the engine keeps a network's address off the host, as it is tried and remembered."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.networks import BASE, docker
from support.owners import told_directory

from control_tower.sandboxes.docker.engine import owner_value
from control_tower.sandboxes.docker.withheld import addresses_withheld
from control_tower.sandboxes.errors import SandboxRefused
from control_tower.sandboxes.leftovers import remove_leftovers
from control_tower.sandboxes.owners import own_directory, state_root

pytestmark = [pytest.mark.docker, pytest.mark.slow]

TRIES = """
import sys, time
from control_tower.sandboxes.docker import withheld
from control_tower.sandboxes.docker.marker import mark
from control_tower.sandboxes.owners import own_directory

def errand(*_, **__):
    print(own_directory(), flush=True)
    time.sleep(600)

withheld.run_errand = errand
mark(own_directory())
withheld.addresses_withheld("an-image", own_directory())
"""


def held_by(owner: Path) -> list[str]:
    """Ids of an owner's networks and containers."""
    mine = ("-q", "--filter", f"label=control-tower.owner={owner_value(owner)}")
    return [*docker("network", "ls", *mine).split(), *docker("ps", "-a", *mine).split()]


@pytest.fixture
def owner() -> Path:
    return own_directory()


def test_a_trial_that_is_killed_is_cleaned_up_by_the_next_run() -> None:
    command = [sys.executable, "-c", TRIES]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        directory = told_directory(process)
        try:
            assert len(held_by(directory)) == 1
        finally:
            process.kill()
    network, left = remove_leftovers()
    assert network.startswith("network ct-trial-")
    assert left.startswith(f"directory {directory} ")
    assert held_by(directory) == []


def test_what_the_engine_does_with_addresses_is_tried_and_remembered(owner: Path) -> None:
    found = addresses_withheld(BASE, owner)
    [version] = docker("version", "-f", "{{.Server.Version}}").split()
    major, minor = (int(part) for part in version.split(".")[:2])
    assert found == ((major, minor) >= (26, 1))
    assert held_by(owner) == []
    assert addresses_withheld("no-such-image:1", owner) == found, "it is not tried again"


def test_a_trial_that_fails_leaves_nothing_and_is_said(owner: Path) -> None:
    with pytest.raises(SandboxRefused, match="the engine's networks cannot be tried"):
        addresses_withheld("no-such-image:1", owner)
    assert not list(state_root().glob("engine-*"))
    assert held_by(owner) == []
