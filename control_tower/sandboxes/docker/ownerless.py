"""Rules of the host's firewall whose owner's directory is gone, so that nothing speaks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from control_tower.sandboxes.docker.engine import directory_of, owner_value
from control_tower.sandboxes.docker.errand import ErrandFailed
from control_tower.sandboxes.docker.host_rules import StillNeeded, prefix_of, remove_rules
from control_tower.sandboxes.owners import is_gone


def is_ownerless(value: str) -> bool:
    """Whether a label is that of an owner in our state directory that is not there any more.

    Args:
        value: the label's.

    Raises:
        SandboxRefused: the state directory cannot be used.
    """
    directory = directory_of(value)
    return directory is not None and is_gone(directory)


def lift_ownerless(
    owners: Iterable[str], images: list[str], *, by: Path, stays: Callable[[str], object]
) -> list[str]:
    """Remove the rules of those of some owners who have no directory any more.

    Args:
        owners: values of their labels.
        images: to do it with; others of ours are tried after them.
        by: directory of this process.
        stays: called with one line for the rules of an owner that cannot be removed.

    Returns:
        One description for the rules of each owner who had some.
    """
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    removed = []
    for value in sorted(filter(is_ownerless, owners)):
        try:
            if remove_rules(value, images, by=owner_value(by)):
                removed.append(f"{rules_of(value)} of a run that ended")
        except (StillNeeded, ErrandFailed, DockerException, RequestException, OSError) as error:
            stays(f"{rules_of(value)} of a run that ended stay: {error}")
    return removed


def rules_of(value: str) -> str:
    """What an owner's rules are called, by the bridges that they are for."""
    return f"rules {prefix_of(value)}+ of the host's firewall"
