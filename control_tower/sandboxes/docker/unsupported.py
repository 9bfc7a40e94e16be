"""What of a compose file our own start-up does not translate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from control_tower.sandboxes.docker.container_body import TRANSLATED

Settings = Mapping[str, Any]

_MODEL = frozenset(
    # Secrets and configs are named where a service uses them.
    ("configs", "name", "networks", "secrets", "services", "version", "volumes")
)
_SERVICE = TRANSLATED | frozenset(
    ("depends_on", "network_mode", "networks", "platform", "scale", "volumes")
)
_WITHOUT_EFFECT = frozenset(
    # Of the command line alone, or done before: images are built and env files read by then.
    ("attach", "build", "develop", "env_file", "profiles", "pull_policy")
)
KNOWN = _SERVICE | _WITHOUT_EFFECT
"""Keys of a service that need no `docker compose`, whatever is in them."""
_NETWORK = frozenset(("driver", "driver_opts", "enable_ipv6", "internal", "labels"))
"""All that `with_reach` leaves."""
_VOLUME = frozenset(("driver", "driver_opts", "labels"))
_PARTS: dict[str, frozenset[str]] = {
    "healthcheck": frozenset(
        ("disable", "interval", "retries", "start_interval", "start_period", "test", "timeout")
    ),
    "logging": frozenset(("driver", "options")),
    "deploy": frozenset(
        (
            *("replicas", "resources", "restart_policy"),
            # Swarm's, which compose itself does not heed:
            *("endpoint_mode", "labels", "mode", "placement", "rollback_config", "update_config"),
        )
    ),
}
_IN_DEPLOY: dict[tuple[str, ...], frozenset[str]] = {
    ("resources",): frozenset(("limits", "reservations")),
    ("resources", "limits"): frozenset(("cpus", "memory", "pids")),
    ("resources", "reservations"): frozenset(("cpus", "memory")),
    ("restart_policy",): frozenset(("condition", "delay", "max_attempts", "window")),
}
_ENDPOINT = frozenset(("aliases", "priority"))
_DEPENDENCY = frozenset(("condition", "required", "restart"))
_MOUNTS: dict[str, frozenset[str]] = {
    "volume": frozenset(("nocopy",)),
    "tmpfs": frozenset(("mode", "size")),
}
_ULIMIT = frozenset(("soft", "hard"))


def unsupported(model: Settings) -> list[str]:
    """What `blueprint_of` would leave out, each as `service 'db': links`; empty if nothing.

    Only what is known is translated, so that a key of a newer compose is never dropped.

    Args:
        model: the compose file as samples run it.
    """
    found = list(_unknown(model, _MODEL))
    for name, service in model["services"].items():
        found += [f"service '{name}': {feature}" for feature in _of_service(service)]
    for name, network in (model.get("networks") or {}).items():
        found += [f"network '{name}': {key}" for key in _unknown(network or {}, _NETWORK)]
    for name, volume in (model.get("volumes") or {}).items():
        found += [f"volume '{name}': {key}" for key in _unknown(volume or {}, _VOLUME)]
    return found


def _of_service(service: Settings) -> Iterator[str]:
    yield from _unknown(service, KNOWN)
    for part, known in _PARTS.items():
        yield from _unknown(service.get(part) or {}, known, f"{part}.")
    deploy = service.get("deploy") or {}
    for path, known in _IN_DEPLOY.items():
        found = deploy
        for key in path:
            found = found.get(key) or {}
        yield from _unknown(found, known, f"deploy.{'.'.join(path)}.")
    if service.get("scale", 1) != 1:
        yield "scale"
    if deploy.get("replicas", 1) != 1:
        yield "deploy.replicas"
    for end in (service.get("networks") or {}).values():
        yield from _unknown(end or {}, _ENDPOINT, "networks.")
    for dependency in (service.get("depends_on") or {}).values():
        yield from _unknown(dependency or {}, _DEPENDENCY, "depends_on.")
    for limit in (service.get("ulimits") or {}).values():
        if isinstance(limit, Mapping):
            yield from _unknown(limit, _ULIMIT, "ulimits.")
    for volume in service.get("volumes") or ():
        yield from _of_mount(volume)


def _of_mount(volume: Settings) -> Iterator[str]:
    kind = str(volume["type"])
    if kind not in _MOUNTS:
        yield f"volumes of type {kind}"
        return
    known = frozenset(("type", "source", "target", "read_only", kind))
    yield from _unknown(volume, known, "volumes.")
    yield from _unknown(volume.get(kind) or {}, _MOUNTS[kind], f"volumes.{kind}.")


def _unknown(settings: Settings, known: frozenset[str], before: str = "") -> Iterator[str]:
    for key, value in settings.items():
        if key not in known and not key.startswith("x-") and value not in (None, "", [], {}):
            yield f"{before}{key}"
