"""Removing what runs that were killed left behind, whichever sandbox they used."""

from __future__ import annotations

import logging
from collections.abc import Callable

from control_tower.sandboxes.bwrap.leftovers import end_processes
from control_tower.sandboxes.docker.marker import uses_docker
from control_tower.sandboxes.owners import LOCK, directories_of_the_dead, remove_tree

_log = logging.getLogger("control_tower.sandboxes")


def remove_leftovers(*, stays: Callable[[str], object] = _log.warning) -> list[str]:
    """Remove the processes, containers and directories of owners that have died.

    What a Docker engine holds stays, with its directory, while that engine does not answer.

    Args:
        stays: called with a line for each directory that stays since something that goes with it
            could not be removed.

    Returns:
        One description for each thing removed.

    Raises:
        SandboxRefused: the state directory cannot be used.
        OSError: something could not be removed.
    """
    removed: list[str] = []
    for path in directories_of_the_dead():
        owner = (path / LOCK).read_text() or "unknown"
        removed += end_processes(path)
        if uses_docker(path):
            from control_tower.sandboxes.docker.leftovers import remove_owned

            found = remove_owned(path)
            if found is None:
                continue
            removed += found.removed
            if found.stays:
                stays(f"directory {path} of a run that ended stays: {found.stays}")
                continue
        remove_tree(path)
        removed.append(f"directory {path} of a run that ended (process {owner})")
    return removed
