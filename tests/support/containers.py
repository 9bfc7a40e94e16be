"""What a Docker engine holds of test environments."""

from __future__ import annotations

from control_tower.sandboxes.docker.engine import RUN_LABEL, engine


def containers_of(environment: str) -> list[str]:
    """Names of all containers of an environment's samples, running or not."""
    with engine() as client:
        filters: dict[str, str | list[str] | bool] = {"label": f"{RUN_LABEL}={environment}"}
        found = client.containers.list(all=True, filters=filters, ignore_removed=True)
        return sorted(str(container.name) for container in found)
