"""What a Docker engine holds of test environments."""

from __future__ import annotations

from control_tower.sandboxes.docker.engine import ENVIRONMENT_LABEL, engine


def containers_of(environment: str) -> list[str]:
    """Names of all containers of an environment's samples, running or not."""
    with engine() as client:
        found = client.containers.list(all=True, filters=_of(environment), ignore_removed=True)
        return sorted(str(container.name) for container in found)


def things_of(environment: str) -> list[str]:
    """Names of an environment's containers, networks and volumes."""
    with engine() as client:
        networks = client.networks.list(filters=_of(environment))
        volumes = client.volumes.list(filters=_of(environment))
    return [*containers_of(environment), *(str(thing.name) for thing in (*networks, *volumes))]


def _of(environment: str) -> dict[str, str | list[str] | bool]:
    return {"label": f"{ENVIRONMENT_LABEL}={environment}"}
