"""What a sample's containers, networks and volumes are made from, ready for the Engine API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from typing import Any, Literal

from pydantic import BaseModel

from control_tower.sandboxes.docker.amounts import seconds
from control_tower.sandboxes.docker.container_body import container_body
from control_tower.sandboxes.docker.healthchecks import Grace, calmed

Settings = Mapping[str, Any]
Condition = Literal["service_started", "service_healthy", "service_completed_successfully"]
"""What a service waits for in another one, in compose's words."""

_PATIENCE = 120.0
"""Seconds that every service has, whatever its health check allows."""
_JOINED = "service:"


class Dependency(BaseModel, frozen=True):
    """One service waits for another."""

    service: str
    condition: Condition = "service_started"

    required: bool = True
    """Otherwise a service that does not come up is only warned of."""


class EndPoint(BaseModel, frozen=True):
    """A service's place in a network."""

    network: str
    """Key of the network."""

    settings: dict[str, Any]
    """As the Engine API takes them: aliases."""


class ServicePlan(BaseModel, frozen=True):
    """One service of every sample."""

    name: str

    body: dict[str, Any]
    """Of `POST /containers/create`; volumes are named by their keys, and there are no networks."""

    networks: tuple[EndPoint, ...] = ()
    """The first is the one with the default route; without any, there is the loopback only."""

    joins: str | None = None
    """The service whose network it shares."""

    depends_on: tuple[Dependency, ...] = ()

    patience: float = _PATIENCE
    """Seconds in which it must come to what others wait for."""

    grace: Grace | None = None
    """What its health check allows while it starts; None where the engine counts failures."""

    platform: str | None = None
    """Such as `linux/amd64`; None for the engine's own."""

    @property
    def volumes(self) -> tuple[str, ...]:
        """Keys of the named volumes that it mounts."""
        mounts = self.body["HostConfig"].get("Mounts") or ()
        return tuple(m["Source"] for m in mounts if m["Type"] == "volume" and m.get("Source"))


class Blueprint(BaseModel, frozen=True):
    """Everything that one sample takes from the engine."""

    version: Literal[1] = 1

    environment: str
    """The environment's id."""

    services: tuple[ServicePlan, ...]
    """Each after those that it depends on."""

    networks: dict[str, dict[str, Any]]
    """By key, the body of `POST /networks/create` without its name; those that are used."""

    volumes: dict[str, dict[str, Any]]
    """By key, the body of `POST /volumes/create` without its name; those that are used."""

    def waited_for(self, service: str) -> set[Condition]:
        """The conditions on which others wait for a service."""
        return {d.condition for d in self._dependencies(service)}

    def is_optional(self, service: str) -> bool:
        """Whether all that wait for a service do without it if it does not come up."""
        found = self._dependencies(service)
        return bool(found) and not any(d.required for d in found)

    def _dependencies(self, service: str) -> list[Dependency]:
        return [d for plan in self.services for d in plan.depends_on if d.service == service]


def blueprint_of(model: Settings, environment: str, *, start_intervals: bool = True) -> Blueprint:
    """The blueprint that a compose file makes; `unsupported` tells what it leaves out.

    Args:
        model: the compose file as samples run it, images named, its networks as `with_reach` makes
            them.
        environment: the environment's id.
        start_intervals: whether the engine knows them for health checks.

    Raises:
        ValueError: an amount in it is none.
        OSError: a seccomp profile cannot be read.
    """
    services = model["services"]
    order = TopologicalSorter({name: _before(service) for name, service in services.items()})
    plans = [
        _plan(name, services[name], start_intervals)
        for name in order.static_order()
        if name in services
    ]
    networks = {end.network for plan in plans for end in plan.networks}
    volumes = {key for plan in plans for key in plan.volumes}
    return Blueprint(
        environment=environment,
        services=tuple(plans),
        networks={key: _network((model.get("networks") or {})[key]) for key in sorted(networks)},
        volumes={key: _volume((model.get("volumes") or {})[key]) for key in sorted(volumes)},
    )


def _plan(name: str, service: Settings, start_intervals: bool) -> ServicePlan:
    mode = service.get("network_mode")
    joins = str(mode).removeprefix(_JOINED) if str(mode).startswith(_JOINED) else None
    check = service.get("healthcheck") or {}
    calm = calmed(check) if start_intervals else None
    return ServicePlan(
        name=name,
        body=container_body({**service, "healthcheck": calm[0]} if calm else service),
        networks=() if mode else tuple(_end_points(name, service.get("networks") or {})),
        joins=joins,
        depends_on=tuple(_dependencies(service.get("depends_on") or {}, joins)),
        patience=max(_PATIENCE, _longest(check) if _is_checked(check) else 0.0),
        grace=calm[1] if calm else None,
        platform=service.get("platform"),
    )


def _dependencies(given: Settings, joins: str | None) -> Iterator[Dependency]:
    for other, settings in given.items():
        yield Dependency(
            service=other,
            condition=(settings or {}).get("condition") or "service_started",
            required=(settings or {}).get("required", True),
        )
    if joins:
        yield Dependency(service=joins)


def _before(service: Settings) -> Iterator[str]:
    yield from service.get("depends_on") or ()
    mode = str(service.get("network_mode"))
    if mode.startswith(_JOINED):
        yield mode.removeprefix(_JOINED)


def _end_points(service: str, networks: Settings) -> Iterator[EndPoint]:
    def rank(key: str) -> tuple[int, str]:
        return -int((networks[key] or {}).get("priority") or 0), key

    for key in sorted(networks, key=rank):
        given = networks[key] or {}
        aliases = [service, *(given.get("aliases") or ())]
        yield EndPoint(network=key, settings={"Aliases": aliases})


def _is_checked(check: Settings) -> bool:
    test = check.get("test") or ()
    return bool(test) and not check.get("disable") and list(test)[:1] != ["NONE"]


def _longest(check: Settings) -> float:
    """Seconds until a check that never succeeds says so."""
    each = seconds(check.get("interval"), 30.0) + seconds(check.get("timeout"), 30.0)
    return seconds(check.get("start_period")) + each * (int(check.get("retries") or 3) + 1)


def _network(network: Settings | None) -> dict[str, Any]:
    given = network or {}
    return {
        "Driver": given.get("driver") or "bridge",
        "Internal": bool(given.get("internal")),
        "EnableIPv6": bool(given.get("enable_ipv6")),
        "Options": {key: str(value) for key, value in (given.get("driver_opts") or {}).items()},
        "Labels": dict(given.get("labels") or {}),
    }


def _volume(volume: Settings | None) -> dict[str, Any]:
    given = volume or {}
    return {
        "Driver": given.get("driver") or "local",
        "DriverOpts": {key: str(value) for key, value in (given.get("driver_opts") or {}).items()},
        "Labels": dict(given.get("labels") or {}),
    }
