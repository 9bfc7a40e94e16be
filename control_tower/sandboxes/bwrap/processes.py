"""Finding and killing a sandbox's processes from the host, where all of them can be seen."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass

_ROUND = 0.005
"""Seconds between two looks at the process table."""
_FAREWELL = 0.5
"""Seconds for a command's outermost process to end after what it waits for."""


@dataclass(frozen=True)
class Process:
    """One line of the process table; `start` (ticks since boot) tells a reused pid apart."""

    pid: int
    state: str
    parent: int
    session: int
    start: int

    @property
    def running(self) -> bool:
        """False for one that has ended and only waits to be collected."""
        return self.state not in "ZX"


def look_up(pid: int) -> Process | None:
    """The process with this pid now, or None."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name, in parentheses, may itself hold spaces and parentheses.
    fields = text[text.rindex(b")") + 2 :].split()
    return Process(pid, fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]))


def all_processes() -> list[Process]:
    """Every process that can be seen."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    return [found for pid in pids if (found := look_up(pid)) is not None]


def kill(process: Process) -> bool:
    """SIGKILL this very process; False if it is gone already."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        now = look_up(process.pid)
        if now is None or now.start != process.start:
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        return True
    finally:
        os.close(handle)


def kill_command(root: int, *, patience: float = 10.0) -> bool:
    """SIGKILL a command: its process `root`, all that descend from it, and their sessions.

    A child that was left in the background without `setsid` is in one of the sessions. A daemon
    that was set free before (own session, adopted by the sandbox's first process) is not.

    Args:
        root: pid of the command's outermost process.
        patience: seconds to go on for against a command that keeps forking.

    Returns:
        Whether all of it is gone.
    """
    deadline = time.monotonic() + patience
    sessions = {root}
    while members := _members(all_processes(), root, sessions):
        if time.monotonic() > deadline:
            return False
        inner = [member for member in members if member.pid != root]
        for process in inner:
            kill(process)
        if not inner:
            _see_off(members[0], sessions)
        time.sleep(_ROUND)
    return True


def wait_gone(pidfd: int, *, patience: float) -> bool:
    """Wait up to `patience` seconds until the process behind a pidfd has ended."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(patience * 1000))


def ends_by_itself(pid: int) -> bool:
    """Whether the process, a child of ours or not, ends within a moment."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return wait_gone(handle, patience=_FAREWELL)
    finally:
        os.close(handle)


def _see_off(root: Process, sessions: set[int]) -> None:
    """End a command's outermost process, the only one left.

    It is to collect its child itself: an orphan of it would go to the host's first process and,
    until that comes round, keep the sandbox from ending. So it is woken, should it be stopped, and
    killed only if it neither ends nor starts anything for a while.
    """
    with contextlib.suppress(ProcessLookupError):
        os.kill(root.pid, signal.SIGCONT)
    ended = ends_by_itself(root.pid)
    if not ended and len(_members(all_processes(), root.pid, sessions)) == 1:
        kill(root)


def _members(table: Iterable[Process], root: int, sessions: set[int]) -> list[Process]:
    """The running members of the command; adds the sessions they lead to `sessions`."""
    table = list(table)
    tree = {root}
    while True:
        found = {p.pid for p in table if p.parent in tree or p.session in sessions or p.pid in tree}
        sessions |= {p.session for p in table if p.pid in found and p.session in found}
        if found == tree:
            break
        tree = found
    return [p for p in table if p.pid in tree and p.running]
