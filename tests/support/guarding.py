"""Owners of rules in the firewall of the engine's host, some of them in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from control_tower.sandboxes.docker.compose import Model
from control_tower.sandboxes.docker.engine import OWNER_LABEL, owner_value
from control_tower.sandboxes.docker.host_guard import bridge_prefix
from control_tower.sandboxes.docker.reach import BRIDGE_NAME
from support.networks import docker, on_host
from support.owners import told_directory

_GUARDS = """
import sys
from control_tower.sandboxes.docker.host_guard import guard_host
from control_tower.sandboxes.owners import own_directory
from support.guarding import egress
from support.networks import BASE
guard_host(egress(), BASE, own_directory())
print(own_directory(), flush=True)
sys.stdin.readline()
"""


def egress(prefix: str = "ctx") -> Model:
    """A model with a network that rules are for."""
    return {"services": {}, "networks": {"egress": {"driver_opts": {BRIDGE_NAME: prefix}}}}


def rules_of(*owners: Path) -> list[str]:
    """The host's rules with the name of one of these, IPv6 ones last."""
    listed = on_host("iptables -t mangle -S; ip6tables -t mangle -S")
    names = [f'={owner_value(owner)}"' for owner in owners]
    return [line for line in listed.splitlines() if any(name in line for name in names)]


@contextmanager
def bridge_of(owner: Path, *, labelled: bool) -> Iterator[str]:
    """A network that an owner's rules are for; its name.

    Args:
        owner: its directory.
        labelled: whether it says whose it is; one that does not is nobody's to remove.
    """
    name = f"{bridge_prefix(owner)}{os.urandom(4).hex()}"
    label = ("--label", f"{OWNER_LABEL}={owner_value(owner)}") if labelled else ()
    docker("network", "create", *label, "-o", f"{BRIDGE_NAME}={name}", name)
    try:
        yield name
    finally:
        subprocess.run(["docker", "network", "rm", name], capture_output=True, check=False)


class GuardingProcess:
    """A process that has made rules, and waits."""

    def __init__(self) -> None:
        pipe: Any = subprocess.PIPE
        self._process = subprocess.Popen(
            [sys.executable, "-c", _GUARDS],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        )
        self.directory = told_directory(self._process)

    def end(self) -> str:
        """Let it end by itself; what it wrote to standard error."""
        _, said = self._process.communicate("end\n")
        assert self._process.returncode == 0, said
        return said

    def kill(self) -> None:
        """Kill it, if it is there."""
        self._process.kill()
        self._process.communicate()
