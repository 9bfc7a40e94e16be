"""What of the host's visible folders is empty in a sandbox.

A sandbox sees the host's `/usr`. That is also where pip, run by root, installs packages: this one
with its environments, their scorers and references among them, or an environment of somebody's own.
Their contents are hidden; that there is a directory of this name is not.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

PACKAGES = ("control_tower", "pytest_control_tower")


def hidden_folders(visible: Sequence[str], environments: Iterable[str]) -> list[str]:
    """The directories to hide, none in another.

    Args:
        visible: host folders that the sandbox sees.
        environments: directories of environments, wherever they are.
    """
    real = {os.path.realpath(path) for path in (*environments, *_packages())}
    inside = {path for path in real if os.path.isdir(path) and _within(path, visible)}
    return sorted(path for path in inside if not _within(path, inside - {path}))


def _packages() -> list[str]:
    """The packages' directories, and those beside them that list what they contain."""
    found = []
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        for location in spec.submodule_search_locations or () if spec else ():
            folder = Path(location)
            found += [location, *map(str, folder.parent.glob(f"{folder.name}-*.dist-info"))]
    return found


def _within(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
