"""An outside world and a host with something to reach, for tests of real networks."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from control_tower.sandboxes.docker.reach import BRIDGE_NAME

BASE = os.environ.get("CT_BASE_IMAGE", "debian:12-slim")
_HERE = Path(__file__).parent
_PROBE = (_HERE / "network_probe.py").read_text()
SERVICES = (_HERE / "network_services.py").read_text()
PORT = 8080
"""Where everybody answers."""


@dataclass(frozen=True)
class World:
    """Who is there to be reached beside a sample's own services."""

    outside: str
    """IPv4 address of a host that is reached through the engine's host only."""
    resolver: str
    """The same; it answers every name with itself, and notes who is asked for."""
    near: str
    """The host's own address towards it."""
    outside_container: str
    host_container: str
    """In the host's network."""
    host_port: int
    """Where the host's service answers, on all addresses."""
    metadata: str = "169.254.169.254"
    """The outside host has this address, too."""

    def names_asked(self) -> list[str]:
        """What the resolver was asked for, in order."""
        lines = logs(self.outside_container).splitlines()
        return [line.split()[1] for line in lines if line.startswith("asked")]

    def host_datagrams(self) -> int:
        """How many datagrams the host's service got."""
        return logs(self.host_container).count("datagram")


@contextmanager
def world() -> Iterator[World]:
    """It is there meanwhile; needs an engine that may run privileged containers, and its `ip`."""
    token = os.urandom(3).hex()
    outside, host, link = f"ct-test-outside-{token}", f"ct-test-host-{token}", f"cto{token}"
    block = f"198.18.{random.randrange(256)}.{{}}".format
    last = 4 * random.randrange(64)
    near, far = block(last + 1), block(last + 2)
    port = random.randrange(20000, 30000)
    made = World(far, far, near, outside, host, port)
    try:
        _serve(outside, "none", "outside", PORT, far)
        _serve(host, "host", "host", port)
        pid = docker("inspect", "-f", "{{.State.Pid}}", outside).strip()
        on_host(
            f"ip link add {link} type veth peer name eth0 netns {pid}\n"
            f"ip addr add {near}/30 dev {link}\nip link set {link} up\n"
            f"nsenter -t {pid} -n ip addr add {far}/30 dev eth0\n"
            f"nsenter -t {pid} -n ip addr add {made.metadata}/32 dev eth0\n"
            f"nsenter -t {pid} -n ip link set eth0 up\n"
            f"ip route replace {made.metadata}/32 via {far}\n"
        )
        yield made
    finally:
        docker("rm", "-f", outside, host)  # the link goes with it


def on_host(script: str) -> str:
    """What a script prints as root on the engine's host."""
    chroot = ["chroot", "/host", "/bin/sh", "-ec", f"PATH=/usr/sbin:/usr/bin:/sbin:/bin\n{script}"]
    how = ["--rm", "--privileged", "--pid", "host", "--network", "host", "-v", "/:/host"]
    return docker("run", *how, BASE, *chroot)


def docker(*args: str, input: str | None = None) -> str:
    """What a docker command prints."""
    done = subprocess.run(
        ["docker", *args], input=input, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, f"docker {' '.join(args)[:200]}: {done.stderr}"
    return done.stdout


def logs(container: str) -> str:
    """What a container's first process wrote."""
    return docker("logs", container)


def probe(container: str, what: str, facts: Any, *, user: str = "root") -> dict[str, list[str]]:
    """What `network_probe` finds in a container: by target, what those said who answered."""
    args = ["exec", "-i", "-u", user, container, "python3", "-", what, json.dumps(facts)]
    found: dict[str, list[str]] = json.loads(docker(*args, input=_PROBE))
    return found


def addresses_of(container: str) -> dict[str, str]:
    """A container's IPv4 address by network name."""
    text = docker("inspect", "-f", "{{json .NetworkSettings.Networks}}", container)
    return {name: end["IPAddress"] for name, end in json.loads(text).items() if end["IPAddress"]}


def gateways_of(container: str) -> list[str]:
    """The addresses that the host has, or would have, on a container's networks."""
    found = []
    for network in addresses_of(container):
        text = docker("network", "inspect", "-f", "{{json .IPAM.Config}}", network)
        found += [config["Gateway"] for config in json.loads(text)]
    return found


def bridges_of(container: str) -> list[str]:
    """The names of the interfaces that a container's networks have on the host."""
    found = []
    for network in addresses_of(container):
        [made] = json.loads(docker("network", "inspect", network))
        found.append(made["Options"].get(BRIDGE_NAME) or f"br-{made['Id'][:12]}")
    return found


def host_links() -> list[dict[str, Any]]:
    """The host's network interfaces, as `ip -j addr` tells them."""
    found: list[dict[str, Any]] = json.loads(on_host("ip -j addr"))
    return found


def _serve(name: str, network: str, *args: object) -> None:
    how = ["-d", "--name", name, "--network", network, "--label", "control-tower.test=networks"]
    docker("run", *how, BASE, "python3", "-c", SERVICES, *map(str, args))
    end = time.monotonic() + 30
    while "ready" not in logs(name):
        assert time.monotonic() < end, logs(name)
