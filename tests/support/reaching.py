"""Samples on real networks, and who reaches whom in them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import Any

import anyio.to_thread

from control_tower.sandboxes.docker.assembly import Assembly
from control_tower.sandboxes.docker.blueprint import blueprint_of
from control_tower.sandboxes.docker.calls import engine_calls
from control_tower.sandboxes.docker.compose import Model
from control_tower.sandboxes.docker.engine import ENVIRONMENT_LABEL, OWNER_LABEL, owner_value
from control_tower.sandboxes.docker.host_guard import bridge_prefix, guard_host
from control_tower.sandboxes.docker.reach import Reach, with_reach
from control_tower.sandboxes.docker.withheld import addresses_withheld
from control_tower.sandboxes.owners import own_directory
from support.networks import (
    BASE,
    PORT,
    SERVICES,
    World,
    addresses_of,
    bridges_of,
    gateways_of,
    host_links,
    logs,
    probe,
)

SECRET = "secret.example.test"
"""A name that only the outside's resolver would answer."""


@dataclass(frozen=True)
class Reached:
    """Who was reached from an agent's container; every field is one column of the matrix."""

    sibling_by_name: bool
    sibling_by_address: bool
    outside_by_name: bool
    outside_by_address: bool
    metadata: bool
    host: bool
    host_by_ipv6: bool
    host_by_datagram: bool
    name_told_outside: bool
    siblings_to_each_other: bool
    sibling_to_outside: bool
    sibling_to_host: bool


def model_of(world: World) -> Model:
    """An environment with an agent and two siblings, who would ask the outside for names."""
    shared: dict[str, Any] = {
        "image": BASE,
        "user": "0:0",
        "init": True,
        "networks": {"default": None},
        "dns": [world.resolver],
    }
    serving = ["python3", "-c", SERVICES]
    return {
        "services": {
            "default": {**shared, "command": ["sleep", "infinity"]},
            "redis": {**shared, "command": [*serving, "redis", str(PORT)]},
            "worker": {**shared, "command": [*serving, "worker", str(PORT)]},
        },
        "networks": {"default": None},
    }


@asynccontextmanager
async def sample(
    world: World, *, internet: bool, reach: Reach, guarded: bool = True
) -> AsyncIterator[dict[str, str]]:
    """A running sample: container id by service."""
    owner = own_directory()
    model = with_reach(
        model_of(world),
        internet=internet,
        reach=reach,
        bridges=bridge_prefix(owner),
        addresses_withheld=addresses_withheld(BASE, owner),
    )
    if guarded:
        guard_host(model, BASE, owner)
    labels = {OWNER_LABEL: owner_value(owner), ENVIRONMENT_LABEL: "reaching"}
    made = Assembly(
        engine_calls(), blueprint_of(model, "reaching"), f"ct-{os.urandom(4).hex()}", labels
    )
    try:
        containers = await made.make()
        for sibling in ("redis", "worker"):
            while "ready" not in await anyio.to_thread.run_sync(logs, containers[sibling]):
                await anyio.sleep(0.05)
        yield containers
    finally:
        await made.remove()


def reached(world: World, containers: dict[str, str]) -> Reached:
    """Who is reached as things are."""
    return _Look(world, containers).look("reach")


def reached_by_root(world: World, containers: dict[str, str]) -> Reached:
    """Who is reached in the course of all that root in the agent's container may try."""
    return _Look(world, containers).look("undo")


class _Look:
    """From one sample's containers."""

    def __init__(self, world: World, containers: dict[str, str]) -> None:
        self._world, self._containers = world, containers
        self._redis = next(iter(addresses_of(containers["redis"]).values()))
        self._gateways = sorted({g for c in containers.values() for g in gateways_of(c)})
        links = host_links()
        of_agent = bridges_of(containers["default"])
        bridges = [link for link in links if link["ifname"] in of_agent]
        self._macs = sorted({str(link["address"]) for link in bridges})
        host = {*self._gateways, *_addresses(links, "inet")} - {"127.0.0.1", world.near}
        self._host = {
            **{f"host {a}": (a, world.host_port) for a in sorted(host)},
            **{f"ipv6 {a}": (a, world.host_port) for a in _addresses(bridges, "inet6")},
        }
        self._outside = {
            "outside": (world.outside, PORT),
            "named": (f"www.{SECRET}", PORT),
            "metadata": (world.metadata, PORT),
        }

    def look(self, how: str) -> Reached:
        """Look about in the way of `network_probe`."""
        world = self._world
        datagrams, names = world.host_datagrams(), len(world.names_asked())
        targets = {"redis": ("redis", PORT), "redis's": (self._redis, PORT)}
        targets |= self._outside | self._host
        facts = targets if how == "reach" else self._facts(targets)
        agent = probe(self._containers["default"], how, facts)
        told = any(SECRET in name for name in world.names_asked()[names:])
        worker = probe(self._containers["worker"], "reach", targets)
        return Reached(
            sibling_by_name="redis" in agent.get("redis", ()),
            sibling_by_address="redis's" in agent,
            outside_by_name="outside" in agent.get("named", ()),
            outside_by_address="outside" in agent,
            metadata="metadata" in agent,
            host=any(name.startswith("host ") for name in agent),
            host_by_ipv6=any(name.startswith("ipv6 ") for name in agent),
            host_by_datagram=world.host_datagrams() > datagrams,
            name_told_outside=told,
            siblings_to_each_other=worker.get("redis") == ["redis"] and "redis's" in worker,
            sibling_to_outside=bool(self._outside.keys() & worker.keys()),
            sibling_to_host=bool(self._host.keys() & worker.keys()),
        )

    def _facts(self, targets: dict[str, tuple[str, int]]) -> dict[str, Any]:
        addresses = {a for a, _ in targets.values() if a.replace(".", "").isdigit()}
        return {
            "targets": targets,
            "resolver": self._world.resolver,
            "gateways": self._gateways,
            "addresses": sorted(addresses - {self._world.metadata}),
            "neighbour": self._redis.rpartition(".")[0] + ".77",
            "macs": self._macs,
            "port": self._world.host_port,
        }


def table(rows: dict[str, Reached]) -> str:
    """The matrix in Markdown."""
    columns = [field.name for field in fields(Reached)]
    lines = [
        "| " + " | ".join(["", *(name.replace("_", " ") for name in columns)]) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for name, row in rows.items():
        cells = ["yes" if getattr(row, column) else "–" for column in columns]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


def _addresses(links: list[dict[str, Any]], family: str) -> list[str]:
    return sorted(
        str(a["local"]) for link in links for a in link["addr_info"] if a["family"] == family
    )
