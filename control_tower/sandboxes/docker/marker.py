"""A file that says that an owner's directory has containers to it."""

from __future__ import annotations

from pathlib import Path

_MARKER = "docker"


def mark(owner: Path) -> None:
    """Say that containers may exist whose owner this directory stands for."""
    (owner / _MARKER).touch()


def uses_docker(owner: Path) -> bool:
    """Whether it was said."""
    return (owner / _MARKER).exists()
