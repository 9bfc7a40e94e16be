"""Removing what runs that were killed left behind."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path

from control_tower.sandboxes.bwrap.holder import HolderRecord
from control_tower.sandboxes.bwrap.processes import all_processes, kill, look_up, wait_gone
from control_tower.sandboxes.bwrap.state import LOCK, OWNER, changing, remove_tree, state_root

_DRAWN = re.compile("[0-9a-f]{12}")
"""A sandbox's directory, as `Owner.new_sandbox` names it."""
_PATIENCE = 20.0
"""Seconds to wait for a killed process to be gone."""


def remove_leftovers() -> list[str]:
    """Remove the processes and directories of owners that have died.

    An owner is alive while it holds the lock in its directory; a live one's are never touched, and
    of two callers at once each directory goes to one.

    Returns:
        One description for each thing removed.

    Raises:
        SandboxRefused: the state directory cannot be used.
        OSError: something could not be removed.
    """
    root = state_root()
    removed: list[str] = []
    for path in sorted(root.glob(f"{OWNER}*")):
        claim = _claim(root, path)
        if claim is None:
            continue
        try:
            removed += _remove_owner(path)
        finally:
            os.close(claim)
    return removed


def _claim(root: Path, path: Path) -> int | None:
    """Take a dead owner's lock; None if it lives or if another took it."""
    with changing(root):
        try:
            lock = os.open(path / LOCK, os.O_RDWR | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if (path / LOCK).exists():
                return lock
        except BlockingIOError:
            pass
        os.close(lock)
        return None


def _remove_owner(path: Path) -> list[str]:
    owner = (path / LOCK).read_text() or "unknown"
    removed: list[str] = []
    for sandbox in sorted(entry for entry in path.iterdir() if entry.is_dir()):
        record = HolderRecord.read(sandbox)
        for process in record.processes() if record else ():
            if _end(process.pid, process.start):
                removed.append(f"process {process.pid} of a run that ended (process {owner})")
        removed += [f"process {pid} of a run that ended" for pid in _end_starting(sandbox.name)]
    remove_tree(path)
    removed.append(f"directory {path} of a run that ended (process {owner})")
    return removed


def _end_starting(sandbox: str) -> list[int]:
    """End what was about to become a sandbox, and is not recorded: its arguments name it.

    What had become one ends by itself, when its owner's end of its socket is closed.
    """
    if not _DRAWN.fullmatch(sandbox):  # a name that we did not draw may be in anybody's arguments
        return []
    named = [p for p in all_processes() if f"/{sandbox}/".encode() in _arguments(p.pid)]
    return [process.pid for process in named if _end(process.pid, process.start)]


def _arguments(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _end(pid: int, start: int) -> bool:
    """Kill the process if it still is the one that was recorded, and wait until it is gone."""
    found = look_up(pid)
    if found is None or found.start != start or not found.running:
        return False
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        killed = kill(found)
        wait_gone(handle, patience=_PATIENCE)
        return killed
    finally:
        os.close(handle)
