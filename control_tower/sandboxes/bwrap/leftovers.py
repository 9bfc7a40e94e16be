"""Ending the processes that killed runs left behind."""

from __future__ import annotations

import os
from pathlib import Path

from control_tower.sandboxes.bwrap.holder import HolderRecord
from control_tower.sandboxes.bwrap.processes import kill, look_up, wait_gone

_PATIENCE = 20.0
"""Seconds to wait for a killed process to be gone."""


def end_processes(owner: Path) -> list[str]:
    """End what runs in the sandboxes of a dead owner's directory; one description for each."""
    ended: list[str] = []
    for sandbox in sorted(entry for entry in owner.iterdir() if entry.is_dir()):
        record = HolderRecord.read(sandbox)
        for process in record.processes() if record else ():
            if _end(process.pid, process.start):
                ended.append(f"process {process.pid} of a run that ended")
    return ended


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
