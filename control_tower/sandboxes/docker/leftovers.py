"""Removing containers, networks and volumes whose owner has died."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from control_tower.sandboxes.docker.engine import OWNER_LABEL, directory_of, engine, owner_value
from control_tower.sandboxes.owners import state_root

if TYPE_CHECKING:
    from docker import DockerClient


def remove_owned(owner: Path) -> list[str] | None:
    """Remove everything of one owner.

    Returns:
        One description for each thing removed; None if the engine does not answer.
    """
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        with engine() as client:
            return _remove(client, owner_value(owner))
    except (DockerException, RequestException, OSError):
        return None


def remove_ownerless() -> list[str]:
    """Remove everything of owners whose directories in our state directory are gone.

    Raises:
        SandboxRefused: the state directory cannot be used.
        docker.errors.DockerException: the engine does not answer.
    """
    removed: list[str] = []
    root = state_root()
    with engine() as client:
        containers = client.containers.list(
            all=True, filters={"label": OWNER_LABEL}, ignore_removed=True
        )
        networks = client.networks.list(filters={"label": OWNER_LABEL})
        labels = [container.labels for container in containers]
        labels += [(network.attrs or {}).get("Labels") or {} for network in networks]
        for value in sorted({found[OWNER_LABEL] for found in labels}):
            directory = directory_of(value)
            if directory is not None and directory.parent == root and not directory.exists():
                removed += _remove(client, value)
    return removed


def _remove(client: DockerClient, value: str) -> list[str]:
    from docker.errors import APIError, NotFound

    removed: list[str] = []
    filters: dict[str, str | list[str] | bool] = {"label": f"{OWNER_LABEL}={value}"}
    for container in client.containers.list(all=True, filters=filters, ignore_removed=True):
        try:
            container.remove(force=True, v=True)
        except NotFound:
            continue
        except APIError as error:
            if error.status_code != _BEING_REMOVED:
                raise
        removed.append(f"container {container.name} of a run that ended")
    for network in client.networks.list(filters=filters):
        try:
            network.remove()
        except NotFound:
            continue
        except APIError as error:
            if error.status_code not in (_BEING_REMOVED, _IN_USE):
                raise
            continue  # somebody else is removing its containers at this moment, and then it
        removed.append(f"network {network.name} of a run that ended")
    for volume in client.volumes.list(filters=filters):
        try:
            volume.remove(force=True)
        except NotFound:
            continue
        removed.append(f"volume {volume.name} of a run that ended")
    return removed


_BEING_REMOVED = 409
"""HTTP status when somebody else removes the same container at this moment."""
_IN_USE = 403
"""HTTP status when a network has containers."""
