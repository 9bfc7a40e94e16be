"""Ending the processes that killed runs left behind."""

from __future__ import annotations

import os
import re
from pathlib import Path

from control_tower.sandboxes.bwrap.holder import HolderRecord
from control_tower.sandboxes.bwrap.processes import all_processes, kill, look_up, wait_gone

_DRAWN = re.compile("[0-9a-f]{12}")
"""A sandbox's directory, as `Owner.new_sandbox` names it."""
_PATIENCE = 20.0
"""Seconds to wait for a killed process to be gone."""


def end_processes(owner: Path) -> list[str]:
    """End what runs in the sandboxes of a dead owner's directory; one description for each."""
    ended: list[int] = []
    for sandbox in sorted(entry for entry in owner.iterdir() if entry.is_dir()):
        record = HolderRecord.read(sandbox)
        recorded = record.processes() if record else ()
        ended += [process.pid for process in recorded if _end(process.pid, process.start)]
        ended += _end_starting(sandbox.name)
    return [f"process {pid} of a run that ended" for pid in ended]


def held_processes(owner: Path) -> list[int]:
    """Pids of the processes that run, and keep the sandboxes in an owner's directory."""
    recorded = [
        process
        for sandbox in sorted(entry for entry in owner.iterdir() if entry.is_dir())
        if (record := HolderRecord.read(sandbox)) is not None
        for process in record.processes()
    ]
    return [each.pid for each in recorded if _runs(each.pid, each.start)]


def _runs(pid: int, start: int) -> bool:
    found = look_up(pid)
    return found is not None and found.start == start and found.running


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
