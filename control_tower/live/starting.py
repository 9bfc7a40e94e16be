"""Starting a session's process, waiting for it, and taking it down."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from control_tower.errors import UsageProblem
from control_tower.live.choosing import chosen_by
from control_tower.live.session import LOG, Session, SessionFolder, told_pid
from control_tower.live.sessions import Sessions
from control_tower.live.wire import SessionFailed, connected
from control_tower.sandboxes.errors import SandboxRefused

_LOOK = 0.1
"""Seconds between two looks at a session that starts or ends."""
_PATIENCE = 90.0
"""Seconds that a process gets to remove its sandbox."""
_DYING = 10.0
"""Seconds that a process which was killed gets to be gone."""
_ANSWERS = 10.0
"""Seconds in which a process must say that it ends."""
_LAST_LINES = 5
_SERVING = "control_tower.live.serving"


class StartFailed(Exception):
    """The session did not come up; nothing of it is left."""


def start(sessions: Sessions, session: Session, tell: Callable[[str], None]) -> SessionFolder:
    """Start a session and wait until its sandbox is up.

    Args:
        sessions: where it is kept.
        session: what it is of.
        tell: gets what is done, whenever that changes.

    Raises:
        UsageProblem: something is wrong with it, or missing on this machine; nothing was started.
        StartFailed: it did not come up; with the reason.
        KeyboardInterrupt: the user had enough; nothing of it is left.
    """
    chosen = chosen_by(session)
    chosen.sandbox.preflight([chosen.combination.environment], samples_at_once=1)
    folder = sessions.make(session)
    process: subprocess.Popen[bytes] | None = None
    try:
        process = _launched(folder)
        _wait_until_up(folder, process, tell)
    except BaseException:
        with _uninterrupted():
            if process is not None:
                _end(process)
            folder.remove()
        raise
    return folder


def take_down(folder: SessionFolder) -> str:
    """Remove a session and its sandbox; what its process left if that has died.

    Returns:
        What was done, in words.

    Raises:
        SessionFailed: its process does not end.
        UsageProblem: the leftovers of a dead process cannot be removed.
    """
    was_held = folder.is_held()
    if not (was_held and _ends(folder)):
        _remove_leftovers()
    folder.remove()
    return "is down" if was_held else "was dead; what it left is removed"


def _launched(folder: SessionFolder) -> subprocess.Popen[bytes]:
    """Start the session's process, which holds it from its first moment on."""
    lock = folder.hold()
    try:
        with (folder.path / LOG).open("ab") as log:
            process = subprocess.Popen(
                # -P: nothing in the current folder stands in for a module of ours.
                [sys.executable, "-P", "-m", _SERVING, str(folder.path), str(lock)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[lock],
            )
        told_pid(lock, process.pid)
    finally:
        os.close(lock)
    return process


def _wait_until_up(
    folder: SessionFolder, process: subprocess.Popen[bytes], tell: Callable[[str], None]
) -> None:
    told = ""
    while True:
        try:
            session = folder.read()
        except UsageProblem:
            if folder.path.exists():
                raise
            raise StartFailed("it was taken down meanwhile") from None
        if session.state == "up":
            return
        if session.state == "failed":
            raise StartFailed(session.note)
        if process.poll() is not None:
            raise StartFailed(_last_words(folder.path / LOG))
        if session.note and session.note != told:
            told = session.note
            tell(told)
        time.sleep(_LOOK)


def _last_words(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return "\n".join(lines[-_LAST_LINES:]) or "its process ended without a word"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that has its sandbox half up, with what it has."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        _remove_leftovers()


def _ends(folder: SessionFolder) -> bool:
    """Have the session's process end; whether it did so by itself, and so left nothing.

    Raises:
        SessionFailed: it does not.
    """
    asked = _asked_to_end(folder)
    if _released(folder, None if asked else signal.SIGTERM, _PATIENCE):
        return True
    if _released(folder, signal.SIGKILL, _DYING):
        return False
    raise SessionFailed(
        f"the process of session '{folder.name}' does not end; see {folder.path / LOG}"
    )


def _asked_to_end(folder: SessionFolder) -> bool:
    try:
        with connected(folder, patience=_ANSWERS) as (_, connection):
            connection.ask({"do": "down"})
    except (SessionFailed, UsageProblem, TimeoutError):
        return False
    return True


def _released(folder: SessionFolder, number: signal.Signals | None, patience: float) -> bool:
    """Whether nobody holds the session any more; each who does meanwhile is sent the signal."""
    deadline = time.monotonic() + patience
    told: int | None = None
    while folder.is_held():
        if time.monotonic() > deadline:
            return False
        holder = folder.holder()
        if number is not None and holder is not None and holder != told:
            told = holder
            with contextlib.suppress(ProcessLookupError):
                os.kill(holder, number)
        time.sleep(_LOOK)
    return True


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Whoever presses Ctrl-C again has to wait: something is being removed."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _remove_leftovers() -> None:
    from control_tower.sandboxes.leftovers import remove_leftovers

    try:
        remove_leftovers()
    except (SandboxRefused, OSError) as error:
        raise UsageProblem(f"ct live down: {error}") from None
