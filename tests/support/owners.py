"""Other processes with state directories."""

from __future__ import annotations

from pathlib import Path
from subprocess import Popen


def told_directory(process: Popen[str]) -> Path:
    """The directory that a process prints first; never the current one, for one that failed."""
    assert process.stdout is not None
    path = Path(process.stdout.readline().strip())
    if not path.is_absolute():
        process.kill()
        _, said = process.communicate()
        raise AssertionError(f"the process did not say its directory: {said}")
    return path
