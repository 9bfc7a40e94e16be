"""What a sample was run with: versions of packages, hashes of its environment and tasks."""

from __future__ import annotations

import platform
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import control_tower
from control_tower.selection import Combination


def versions_of(combination: Combination) -> dict[str, str]:
    """Versions by name; an environment's and a task's is the hash of its folder."""
    environment = _cached_hash(combination.environment.directory)
    versions = {**_package_versions(), "environment": environment}
    for name, task in (("main", combination.main_task), ("side", combination.side_task)):
        if task is not None:
            versions[f"{name}_task"] = _cached_hash(task.directory)
    return versions


@cache
def _package_versions() -> dict[str, str]:
    package = Path(control_tower.__file__).parent
    return {
        "control_tower": _package_version("pytest-control-tower"),
        "control_tower_content": content_hash(package, leave_out=package / "environments"),
        "inspect_ai": _package_version("inspect_ai"),
        "python": platform.python_version(),
    }


@cache
def _cached_hash(directory: Path) -> str:
    return content_hash(directory)


def _package_version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"


def content_hash(directory: Path, *, leave_out: Path | None = None) -> str:
    """SHA-256 over the names and contents of a directory's files (byte code left out)."""
    digest = sha256()
    for path in sorted(directory.rglob("*")):
        if "__pycache__" in path.parts or (leave_out and path.is_relative_to(leave_out)):
            continue
        if path.is_file():
            digest.update(path.relative_to(directory).as_posix().encode() + b"\0")
            digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest()
