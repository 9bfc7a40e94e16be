"""What processes of ours have in the engine, and removing what those that have died left there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from control_tower.sandboxes.docker.engine import (
    ENVIRONMENT_LABEL,
    OWNER_LABEL,
    RUN_LABEL,
    directory_of,
    engine,
    owner_value,
)
from control_tower.sandboxes.docker.errand import ErrandFailed
from control_tower.sandboxes.docker.host_guard import guard_images, has_guard, lift_guard
from control_tower.sandboxes.docker.host_rules import StillNeeded, owners_with_rules, prefix_of
from control_tower.sandboxes.docker.marker import mark
from control_tower.sandboxes.docker.ownerless import is_ownerless, lift_ownerless, rules_of
from control_tower.sandboxes.docker.reach import BRIDGE_NAME
from control_tower.sandboxes.owners import is_alive, own_directory, state_root

if TYPE_CHECKING:
    from docker import DockerClient

Kind = Literal["container", "network", "volume", "rules"]
_AT_ONCE = 8

_log = logging.getLogger("control_tower.sandboxes")


@dataclass(frozen=True)
class Holding:
    """One thing of ours that the engine, or the firewall of its host, has."""

    kind: Kind
    name: str
    """In the engine; of rules, that of the bridges that they are for: `ct…+`."""

    owner: str
    """Value of `OWNER_LABEL`: host and directory of the process that made it."""

    environment: str
    """The environment's id; empty where it belongs to none."""

    run: str
    """The run that it was made for; empty if that is not known."""

    alive: bool | None
    """Whether its owner lives; None if that is not for this machine to say."""


def holdings() -> list[Holding]:
    """Everything of ours in the engine, whoever made it: containers, networks, volumes.

    Raises:
        docker.errors.DockerException: the engine does not answer.
    """
    with engine() as client:
        found = _found(client, OWNER_LABEL)
    alive = {owner: _alive(owner) for owner in {labels[OWNER_LABEL] for *_, labels in found}}
    return [
        Holding(
            kind=kind,
            name=name,
            owner=labels[OWNER_LABEL],
            environment=labels.get(ENVIRONMENT_LABEL, ""),
            run=labels.get(RUN_LABEL, ""),
            alive=alive[labels[OWNER_LABEL]],
        )
        for kind, name, labels in found
    ]


def rules_held() -> list[Holding]:
    """Rules of ours in the firewall of the engine's host, one for all those of an owner.

    Looking takes a container. So it is done only where an owner in our state directory has noted
    that there may be rules, or the engine has a network that rules are for.

    Raises:
        SandboxRefused: the state directory cannot be used.
        ErrandFailed: the firewall cannot be looked at.
        docker.errors.DockerException: the engine does not answer.
    """
    images = guard_images(state_root())
    with engine() as client:
        if not images and not _guarded(client):
            return []
    return [
        Holding("rules", f"{prefix_of(owner)}+", owner, "", "", _alive(owner))
        for owner in sorted(owners_with_rules(images, by=owner_value(_errands())))
    ]


@dataclass(frozen=True)
class Removal:
    """What became of the things of one owner."""

    removed: tuple[str, ...]
    """One description for each that was removed."""

    stays: str | None = None
    """What could not be removed, so that the owner's directory must stay; None: all was."""


def remove_owned(owner: Path) -> Removal | None:
    """Remove everything of one owner, and its rules on the engine's host.

    Returns:
        What came of it; None if the engine does not answer.
    """
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException

    value = owner_value(owner)
    removed: list[str] = []
    try:
        with engine() as client:
            removed += _remove(client, value)
        if has_guard(owner):
            if not lift_guard(owner):
                raise StillNeeded
            removed.append(f"{rules_of(value)} of a run that ended")
    except APIError as error:
        return Removal(tuple(removed), str(error))
    except (StillNeeded, ErrandFailed) as error:
        return Removal(tuple(removed), f"{rules_of(value)} are left: {error}")
    except (DockerException, RequestException, OSError):
        return None
    return Removal(tuple(removed))


def remove_ownerless(
    *, search: bool = False, stays: Callable[[str], object] = _log.warning
) -> list[str]:
    """Remove everything of owners whose directories in our state directory are gone.

    Their rules on the engine's host too, where they had networks that rules are for.

    Args:
        search: look, which takes a container, for rules of owners who have nothing else any more.
        stays: called with a line for what cannot be removed, or looked at.

    Returns:
        One description for each thing removed.

    Raises:
        SandboxRefused: the state directory cannot be used.
        docker.errors.DockerException: the engine does not answer.
    """
    removed: list[str] = []
    with engine() as client:
        owners = _guarded(client)
        for value in sorted({labels[OWNER_LABEL] for *_, labels in _found(client, OWNER_LABEL)}):
            if is_ownerless(value):
                removed += _remove(client, value)
    images = guard_images(state_root())
    if search:
        owners |= _searched(images, stays)
    if any(map(is_ownerless, owners)):
        removed += lift_ownerless(owners, images, by=_errands(), stays=stays)
    return removed


def _searched(images: list[str], stays: Callable[[str], object]) -> frozenset[str]:
    """Owners that have rules; none if that cannot be seen, which is said."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        return owners_with_rules(images, by=owner_value(_errands()))
    except (ErrandFailed, DockerException, RequestException, OSError) as error:
        stays(f"the firewall of the engine's host cannot be looked at: {error}")
        return frozenset()


def _errands() -> Path:
    """Whose the containers are, for as long as this looks about: this process."""
    own = own_directory()
    mark(own)
    return own


def _guarded(client: DockerClient) -> frozenset[str]:
    """Owners of networks that rules are for."""
    return frozenset(
        owner
        for network in client.api.networks(filters={"label": OWNER_LABEL})
        if (owner := network["Labels"][OWNER_LABEL])
        and str((network["Options"] or {}).get(BRIDGE_NAME)).startswith(prefix_of(owner))
    )


def _alive(owner: str) -> bool | None:
    directory = directory_of(owner)
    return None if directory is None else is_alive(directory)


def _found(client: DockerClient, label: str) -> list[tuple[Kind, str, Mapping[str, str]]]:
    """Kind, name and labels of what has a label."""
    api: Any = client.api
    filters = {"label": label}
    containers = api.containers(all=True, filters=filters)
    networks = api.networks(filters=filters)
    volumes = api.volumes(filters=filters)["Volumes"] or ()
    return [
        *(("container", c["Names"][0].lstrip("/"), c["Labels"]) for c in containers if c["Names"]),
        *(("network", network["Name"], network["Labels"]) for network in networks),
        *(("volume", volume["Name"], volume["Labels"]) for volume in volumes),
    ]


def _remove(client: DockerClient, value: str) -> list[str]:
    """Remove what has one value of the owner's label: several at once, containers first."""
    api: Any = client.api
    found = _found(client, f"{OWNER_LABEL}={value}")
    removed = _each(
        (name for kind, name, _ in found if kind == "container"),
        lambda name: api.remove_container(name, force=True, v=True),
        # Somebody else removes the same container at this moment.
        done=(_CONFLICT,),
    )
    lines = [f"container {name} of a run that ended" for name in removed]
    for of_kind, remove in (
        ("network", api.remove_network),
        ("volume", lambda name: api.remove_volume(name, force=True)),
    ):
        # In use: somebody else is removing its containers at this moment, and then it.
        names = (name for kind, name, _ in found if kind == of_kind)
        removed = _each(names, remove, left=(_FORBIDDEN, _CONFLICT))
        lines += [f"{of_kind} {name} of a run that ended" for name in removed]
    return lines


def _each(
    names: Iterable[str],
    remove: Callable[[str], object],
    *,
    done: tuple[int, ...] = (),
    left: tuple[int, ...] = (),
) -> list[str]:
    """Remove things by name and give the names of those that were removed.

    Args:
        names: of the things.
        remove: removes one.
        done: status with which one counts as removed all the same.
        left: status with which one is left to somebody else.
    """
    from docker.errors import APIError, NotFound

    def one(name: str) -> bool:
        try:
            remove(name)
        except NotFound:
            return False
        except APIError as error:
            if error.status_code not in (*done, *left):
                raise
            return error.status_code in done
        return True

    wanted = list(names)
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return [name for name, gone in zip(wanted, threads.map(one, wanted), strict=True) if gone]


_CONFLICT = 409
"""HTTP status when a container is being removed, or a volume is in use."""
_FORBIDDEN = 403
"""HTTP status when a network has containers."""
