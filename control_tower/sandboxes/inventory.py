"""What is there of ours on this machine, whoever made it, and removing what the dead left."""

from __future__ import annotations

import shlex
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from control_tower.sandboxes.bwrap.leftovers import held_processes
from control_tower.sandboxes.leftovers import remove_leftovers
from control_tower.sandboxes.owners import LOCK, OWNER, is_alive, state_root

if TYPE_CHECKING:
    from control_tower.sandboxes.docker.leftovers import Holding

NO_ENGINE = "no Docker engine answers here"

ItemKind = Literal["directory", "process", "container", "network", "volume", "rules"]


@dataclass(frozen=True)
class Item:
    """One thing of ours."""

    kind: ItemKind
    name: str
    """The path, the pid, or the name in the engine; of rules of the firewall on the engine's host,
    that of the bridges that they are for."""

    owner: str
    """The process that made it, or the machine that process is on if that is another."""

    alive: bool | None
    """Whether that process lives; None if it cannot be told from here."""

    since: float | None = None
    """When that process made its first sandbox, in seconds since the epoch; None: not known."""

    run: str = ""
    """The run that it was made for; empty if that is not known."""

    environment: str = ""
    """The environment's id; empty if it is of none, or that is not known."""


@dataclass(frozen=True)
class Inventory:
    """All things of ours, and what could not be looked at."""

    items: tuple[Item, ...]
    unseen: tuple[str, ...] = ()
    """A line for each part that is missing, with the reason."""


@dataclass(frozen=True)
class Cleaning:
    """What was removed, and what the dead left that was not."""

    removed: tuple[str, ...]
    """A description for each thing."""

    stays: tuple[str, ...] = ()
    """A line for each thing that could not be removed, or looked at, with the reason."""


def inventory() -> Inventory:
    """Look at the state directory of this user, and at the engine.

    Raises:
        SandboxRefused: the state directory cannot be used.
    """
    here = tuple(_on_disk(state_root()))
    unseen: list[str] = []
    return Inventory((*here, *_in_engine(unseen.append)), tuple(unseen))


def clean() -> Cleaning:
    """Remove what owners left that have died, of this user on this machine; nothing else.

    Raises:
        SandboxRefused: the state directory cannot be used.
        OSError: something could not be removed.
    """
    stays: list[str] = []
    removed = remove_leftovers(stays=stays.append)
    removed += _remove_ownerless(stays.append)
    return Cleaning(tuple(removed), (*stays, *_elsewhere()))


def _on_disk(root: Path) -> Iterator[Item]:
    for path in sorted(root.glob(f"{OWNER}*")):
        owner, since = _owner_of(path)
        alive = is_alive(path)
        try:
            pids = held_processes(path)
        except FileNotFoundError:  # its owner has ended meanwhile, and removed it
            continue
        yield Item("directory", str(path), owner, alive, since)
        yield from (Item("process", str(pid), owner, alive, since) for pid in pids)


def _in_engine(unseen: Callable[[str], object]) -> list[Item]:
    """What the engine has of ours, and the firewall of its host; what cannot be seen is said."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    from control_tower.sandboxes.docker.errand import ErrandFailed
    from control_tower.sandboxes.docker.leftovers import holdings, rules_held

    try:
        found = holdings()
    except (DockerException, RequestException, OSError):
        unseen(
            f"{NO_ENGINE}: its containers, networks and volumes, and the rules of its host's "
            "firewall, are not listed"
        )
        return []
    try:
        found += rules_held()
    except (ErrandFailed, DockerException, RequestException, OSError) as error:
        unseen(f"the firewall of the engine's host cannot be looked at: {error}")
    return sorted(map(_item, found), key=lambda item: (item.owner, item.kind, item.name))


def _item(held: Holding) -> Item:
    host, _, directory = held.owner.partition(":")
    local = host == socket.gethostname()
    owner, since = _owner_of(Path(directory)) if local else (f"on {host}", None)
    return Item(held.kind, held.name, owner, held.alive, since, held.run, held.environment)


def _remove_ownerless(stays: Callable[[str], object]) -> list[str]:
    """As `remove_ownerless`; an engine that does not answer is said, too."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    from control_tower.sandboxes.docker.leftovers import remove_ownerless

    try:
        return remove_ownerless(search=True, stays=stays)
    except (DockerException, RequestException, OSError):
        stays(f"{NO_ENGINE}: what it holds of dead runs stays")
        return []


def _elsewhere() -> list[str]:
    """A line for each other state directory of this machine whose dead left something."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    from control_tower.sandboxes.docker.leftovers import holdings

    own = state_root()
    try:
        dead = [Path(held.owner.partition(":")[2]) for held in holdings() if held.alive is False]
    except (DockerException, RequestException, OSError):  # which is said already
        return []
    found = Counter(directory.parent for directory in dead if directory.parent != own)
    return [
        f"{count} more of dead runs, of the state directory {root}: "
        f"CT_STATE_DIR={shlex.quote(str(root))} ct sandbox clean"
        for root, count in sorted(found.items())
    ]


def _owner_of(directory: Path) -> tuple[str, float | None]:
    """The process whose directory it is, and since when it has it."""
    lock = directory / LOCK
    try:
        return f"process {lock.read_text() or 'unknown'}", lock.stat().st_mtime
    except OSError:
        return "unknown", None
