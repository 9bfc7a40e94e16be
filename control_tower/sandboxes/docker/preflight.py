"""What must be there before a run in Docker: one clear line for what is not."""

from __future__ import annotations

import ipaddress
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from control_tower.sandboxes.docker.calls import calls_at_once
from control_tower.sandboxes.docker.engine import engine
from control_tower.sandboxes.docker.host_guard import REACHABLE
from control_tower.sandboxes.errors import SandboxRefused
from control_tower.sandboxes.owners import state_root

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.networks import Network

OLDEST_ENGINE = (24, 0, 6)
OLDEST_COMPOSE = (2, 24, 0)

_DEFAULT_POOLS = [
    *({"Base": f"172.{second}.0.0/16", "Size": 16} for second in range(17, 32)),
    {"Base": "192.168.0.0/16", "Size": 20},
]
"""Where an engine takes networks from unless it is told otherwise."""


def preflight() -> None:
    """Make sure that there is an engine that is new enough, and compose.

    Raises:
        SandboxRefused: in one line that says what is missing and the way out.
    """
    check_client()
    with _answering_engine() as client:
        said = str(client.version()["Version"])
    if _version(said) < OLDEST_ENGINE:
        raise SandboxRefused(
            f"the Docker engine is {said}, and {_dotted(OLDEST_ENGINE)} or newer is needed; "
            "update it"
        )


def check_room(samples: int, networks: int = 1) -> None:
    """Make sure that the engine has addresses for the networks of samples that run at once.

    Args:
        samples: how many run at once.
        networks: how many each of them takes.

    Raises:
        SandboxRefused: in one line, with the ways to more room.
    """
    with _answering_engine() as client:
        taken = [subnet for network in client.networks.list() for subnet in _subnets(network)]
        room = free_networks(client.info().get("DefaultAddressPools"), taken)
    if room < samples * networks:
        each = "one" if networks == 1 else str(networks)
        raise SandboxRefused(
            f"the engine has addresses for {room} more networks, and {samples} samples at once "
            f"need {each} each; lower the number of samples at once, remove networks that are not "
            "used (docker network prune), or give the engine a larger default-address-pool"
        )


def check_variables() -> None:
    """Make sure that `CT_ENGINE_CALLS`, `CT_HOST_REACHABLE` and `CT_STATE_DIR` say something.

    Raises:
        SandboxRefused: in one line that says what they may be.
    """
    state_root()
    calls_at_once()
    reachable = os.environ.get(REACHABLE, "")
    if reachable not in ("", "0", "1"):
        raise SandboxRefused(
            f"{REACHABLE}={reachable!r} says neither yes nor no; give 1 where agents may reach the "
            "host, and else nothing"
        )


@contextmanager
def _answering_engine() -> Iterator[DockerClient]:
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        with engine() as client:
            yield client
    except (DockerException, RequestException, OSError) as error:
        if "Permission denied" in str(error):
            raise SandboxRefused(
                "this user may not use the Docker engine; add it to the group docker and log in "
                "again, or run as root"
            ) from None
        raise SandboxRefused(_silent(os.environ.get("DOCKER_HOST"))) from None


def _silent(chosen: str | None) -> str:
    if chosen:
        return (
            f"no Docker engine answers at DOCKER_HOST={chosen}; start it, name another there, or "
            "leave the variable out"
        )
    return (
        "no Docker engine answers here; install and start Docker Engine 24 or newer, or name one "
        "in DOCKER_HOST"
    )


def check_client() -> None:
    """Make sure that there is Docker's command line with a compose that is new enough.

    Raises:
        SandboxRefused: in one line that says what is missing and the way out.
    """
    if shutil.which("docker") is None:
        raise SandboxRefused(
            "the program docker is not on the path; install Docker's command line with compose"
        )
    command = ["docker", "compose", "version", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        said = str(json.loads(done.stdout)["version"])
        version = _version(said)
    except (ValueError, KeyError, TypeError):
        raise SandboxRefused(
            "`docker compose` does not work; install Docker's compose plugin 2.24 or newer"
        ) from None
    if version < OLDEST_COMPOSE:
        raise SandboxRefused(
            f"`docker compose` is {said}, and {_dotted(OLDEST_COMPOSE)} or newer is needed; update "
            "Docker's compose plugin"
        )


def free_networks(pools: list[dict[str, Any]] | None, taken: list[str]) -> int:
    """How many networks an engine can still make.

    Args:
        pools: its address pools, as its API tells them; None for the built-in ones.
        taken: subnets in use, in CIDR notation.
    """
    used = [ipaddress.ip_network(text, strict=False) for text in taken]
    free = 0
    for pool in pools or _DEFAULT_POOLS:
        base = ipaddress.ip_network(str(pool["Base"]), strict=False)
        if base.version != 4:
            continue
        size = max(int(str(pool["Size"])), base.prefixlen)
        inside = [n for n in used if n.version == base.version and n.overlaps(base)]
        # A larger network takes the place of several of this size; a smaller one that of one.
        blocked = {block for network in inside for block in _blocks(network, size)}
        free += 2 ** (size - base.prefixlen) - len(blocked)
    return free


def _blocks(network: Any, size: int) -> list[Any]:
    if network.prefixlen >= size:
        return [network.supernet(new_prefix=size)]
    return list(network.subnets(new_prefix=size))


def _subnets(network: Network) -> list[str]:
    configs = ((network.attrs or {}).get("IPAM") or {}).get("Config") or []
    return [str(config["Subnet"]) for config in configs if config.get("Subnet")]


def _version(text: str) -> tuple[int, ...]:
    numbers = text.removeprefix("v").split("+")[0].split("-")[0].split(".")
    return tuple(int(number) for number in numbers[:3])


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
