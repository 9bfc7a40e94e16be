"""Who reaches whom: a sample's networks, decided by what a container is connected to.

    outside ── egress ── agent ── the compose file's networks, closed ── siblings

The networks of the compose file lead nowhere: not to the world, and not to the host. With internet
the agent, and nobody else, is on a second network of its sample's own, the egress. So cutting
something off is to connect a container to less, and there is nothing in a container that could be
undone from within.

A closed network is a bridge without an address on the host. The bridge still has an IPv6 address of
its own there, which cannot be reached without a raw socket or a change to a network interface. So
containers lose NET_RAW; and where one has such powers, or is on an egress, its sample's bridges get
names that the `host_guard` knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from control_tower.sandboxes.docker.compose import AGENTS_SERVICE, Model
from control_tower.sandboxes.errors import EnvironmentRefused

BRIDGE_NAME = "com.docker.network.bridge.name"
"""Option of a network whose bridge is to be guarded. In a model it is the beginning of a name, and
each sample's bridge has an ending of its own."""
NO_ADDRESS = "com.docker.network.bridge.inhibit_ipv4"
"""Option of a network whose bridge gets no IPv4 address on the host (Engine 26.1)."""

_EGRESS = "egress"
_NOWHERE = "127.0.0.1"
"""Resolver for names that no sibling has: nobody answers there, and nobody else is asked."""
_POWERS = frozenset(("ALL", "NET_ADMIN", "NET_RAW", "SYS_ADMIN"))


@dataclass(frozen=True)
class Reach:
    """What a run asks of its samples' networks."""

    no_internet: bool = False
    """The agent reaches nothing outside, whatever its environment says."""

    no_intranet: bool = False
    """The agent reaches no sibling. Siblings reach each other."""

    network_control: bool = False
    """The agent's container has NET_ADMIN."""


def with_reach(
    model: Model, *, internet: bool, reach: Reach, bridges: str, addresses_withheld: bool = True
) -> Model:
    """The model with its networks as environment and run want them.

    Args:
        model: as `docker compose config` resolves it.
        internet: whether the environment asks for it.
        reach: what the run asks.
        bridges: what names of guarded bridges begin with; 7 characters at most.
        addresses_withheld: whether the engine can make a network without an address on the host;
            if not, closed networks are guarded.

    Raises:
        EnvironmentRefused: a service is on a network that cannot be made so.
    """
    problems = list(unreachable(model, reach))
    if problems:
        raise EnvironmentRefused("; ".join(problems))
    made = deepcopy(model)
    services: dict[str, Any] = made["services"]
    agents = services[AGENTS_SERVICE]
    holder = services[_holder(services, AGENTS_SERVICE)]
    names = _aliases(holder)
    if reach.network_control:
        agents["cap_add"] = [*(agents.get("cap_add") or ()), "NET_ADMIN"]
    if reach.no_intranet or len(services) == 1:
        holder.pop("networks", None)
    joined = {network for service in services.values() for network in service.get("networks") or ()}
    networks = {name: _closed(entry) for name, entry in _entries(model).items() if name in joined}
    out = internet and not reach.no_internet and holder.get("network_mode") != "none"
    if out:
        _let_out(holder, networks, names)
    guarded = out or not addresses_withheld or any(map(_powerful, services.values()))
    for entry in networks.values() if guarded else ():
        entry["driver_opts"][BRIDGE_NAME] = bridges
    for name, service in services.items():
        connected = services[_holder(services, name)]
        if not service.get("networks"):
            service.setdefault("network_mode", "none")
        if connected.get("networks") and not guarded:
            service["cap_drop"] = [*(service.get("cap_drop") or ()), "NET_RAW"]
        if not (out and connected is holder):
            _ask_nobody_outside(service)
    made["networks"] = networks
    return made if networks else {k: v for k, v in made.items() if k != "networks"}


def is_guarded(model: Model) -> bool:
    """Whether samples of this model, as `with_reach` gives it, need the `host_guard`."""
    entries = _entries(model).values()
    return any(BRIDGE_NAME in (entry.get("driver_opts") or {}) for entry in entries)


def lets_out(model: Model) -> bool:
    """Whether somebody in samples of this model, as `with_reach` gives it, has internet."""
    return any(not entry.get("internal") for entry in _entries(model).values())


def networks_needed(model: Model) -> int:
    """How many networks each sample of this model, as `with_reach` gives it, takes."""
    return len(_entries(model))


def unreachable(model: Model, reach: Reach) -> Iterator[str]:
    """What `with_reach` refuses, a text each."""
    services = model["services"]
    for name, service in services.items():
        mode = str(service.get("network_mode") or "none")
        if mode != "none" and not mode.startswith("service:"):
            yield (
                f"service '{name}' has network_mode '{mode}', which is a network that it shares "
                "with the host or with other samples"
            )
    if reach.no_intranet:
        agents = _holder(services, AGENTS_SERVICE)
        for name in services:
            if name != AGENTS_SERVICE and _holder(services, name) == agents:
                yield (
                    f"service '{name}' has one network with the agent (network_mode "
                    "'service:…'), so that --no-intranet cannot part them"
                )


def _holder(services: dict[str, Any], name: str) -> str:
    """The service whose network a service uses: mostly its own."""
    seen = set()
    while name not in seen and name in services:
        seen.add(name)
        mode = str(services[name].get("network_mode") or "")
        if not mode.startswith("service:"):
            return name
        name = mode.removeprefix("service:")
    raise EnvironmentRefused(f"network_mode 'service:{name}' leads to no service with a network")


def _entries(model: Model) -> dict[str, dict[str, Any]]:
    return {name: entry or {} for name, entry in (model.get("networks") or {}).items()}


def _closed(entry: dict[str, Any]) -> dict[str, Any]:
    """A network that leads nowhere; of the author's one only the labels stay."""
    labels = {"labels": entry["labels"]} if entry.get("labels") else {}
    return {
        **labels,
        "driver": "bridge",
        "internal": True,
        "enable_ipv6": False,
        "driver_opts": {NO_ADDRESS: "true"},
    }


def _let_out(holder: dict[str, Any], networks: dict[str, Any], names: list[str]) -> None:
    """Connect the agent to an egress, under the names that it has if it is nowhere else."""
    egress = _EGRESS
    while egress in networks:
        egress += "-out"
    networks[egress] = {"driver": "bridge", "enable_ipv6": False, "driver_opts": {}}
    own = holder.get("networks") or {}
    here = {"aliases": names} if names and not own else None
    holder["networks"] = {**own, egress: here}


def _aliases(service: dict[str, Any]) -> list[str]:
    endpoints = (service.get("networks") or {}).values()
    return list(dict.fromkeys(n for e in endpoints for n in (e or {}).get("aliases") or ()))


def _powerful(service: dict[str, Any]) -> bool:
    """Whether it can reach its bridge's IPv6 address on the host."""
    added = {str(power).upper().removeprefix("CAP_") for power in service.get("cap_add") or ()}
    speaks_ipv6 = any("ipv6" in str(key) for key in service.get("sysctls") or ())
    return bool(added & _POWERS) or speaks_ipv6


def _ask_nobody_outside(service: dict[str, Any]) -> None:
    """Keep its look-ups of names among its siblings.

    Older engines pass the others on to the host's resolvers, even from a closed network.
    """
    if str(service.get("network_mode") or "").startswith("service:"):
        return  # it looks up names as the other service does
    service["dns"] = [one for one in _listed(service.get("dns")) if one.startswith("127.")] or [
        _NOWHERE
    ]
    service.setdefault("dns_search", ["."])


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else [str(one) for one in value or ()]
