"""One session on disk: what it is of, and whether a process keeps it up."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from control_tower.errors import UsageProblem
from control_tower.sandboxes.owners import remove_tree
from control_tower.sandboxes.settings import SandboxSettings

State = Literal["starting", "up", "failed"]
"""What its process last wrote; whether that process lives is another question."""

STEPS = "steps.jsonl"
LOG = "server.log"
SOCKETS = "ct-live-"
"""What the name of a socket's folder begins with: a socket's path must be short."""
_FILE = "session.json"
_LOCK = "lock"
_SAID = 200
"""Characters of a dead process's last line that are shown."""
_TRIES, _LOOK = 20, 0.05
"""How often, and how many seconds apart, a session is tried to be held."""


class Session(BaseModel):
    """One session, as its file has it."""

    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = 1
    name: str
    id: str = Field(default_factory=lambda: secrets.token_hex(8))
    """Also of the trajectory that is made of it."""
    created: float = Field(default_factory=time.time)
    """Seconds since 1970."""
    environment: str
    """Its id."""
    directory: str
    """The environment's folder."""
    main_task: str | None = None
    side_task: str | None = None
    env_arg: tuple[str, ...] = ()
    """Arguments of the environment, as `key=value`."""
    sandbox: str | None = None
    """None: the default."""
    extra_src: tuple[str, ...] = ()
    """Absolute folders of code, from which the sandbox's type may come."""
    settings: SandboxSettings = SandboxSettings()
    log_dir: str
    """Absolute; where trajectories of it are recorded."""
    socket: str = ""
    """Of its process."""
    workspace: str = ""
    state: State = "starting"
    note: str = ""
    """What it is at, while it starts; why it failed, if it did."""

    @property
    def sample_id(self) -> str:
        """`env/main/side`, with `-` for none."""
        return f"{self.environment}/{self.main_task or '-'}/{self.side_task or '-'}"


class SessionFolder:
    """A session's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        """The session's."""
        return self.path.name

    def read(self) -> Session:
        """The session.

        Raises:
            UsageProblem: its file is gone or malformed; says how to remove it.
        """
        try:
            return Session.model_validate_json((self.path / _FILE).read_bytes())
        except (OSError, ValidationError) as error:
            what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
            raise UsageProblem(
                f"session '{self.name}' is broken ({what}); `ct live down {self.name}` removes it"
            ) from None

    def write(self, session: Session) -> None:
        """Write the session's file, which appears whole or not at all."""
        unfinished = self.path / f".{_FILE}.part"
        unfinished.write_text(session.model_dump_json(indent=2), encoding="utf-8")
        unfinished.replace(self.path / _FILE)

    def hold(self) -> int:
        """Hold the session, for as long as the file descriptor that is returned is open anywhere.

        Raises:
            OSError: another process holds it, or the folder is gone.
        """
        lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for left in reversed(range(_TRIES)):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:  # somebody may just look whether it is held
                if not left:
                    os.close(lock)
                    raise
                time.sleep(_LOOK)
        return lock

    def holder(self) -> int | None:
        """The process that keeps the session up; None if none does, or it is not known yet."""
        try:
            pid = int((self.path / _LOCK).read_text())
        except (OSError, ValueError):
            return None
        return pid if self.is_held() else None

    def is_held(self) -> bool:
        """Whether a process keeps the session up."""
        try:
            lock = os.open(self.path / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(lock)
        return False

    def remove(self) -> None:
        """Remove all that is on disk of a session whose process has ended.

        Raises:
            OSError: something could not be removed.
        """
        with contextlib.suppress(UsageProblem, OSError, ValueError):
            place = Path(self.read().socket).parent
            if place.name.startswith(SOCKETS):
                remove_tree(place)
        remove_tree(self.path)


def told_pid(lock: int, pid: int) -> None:
    """Write down which process keeps the session up whose lock this is."""
    os.pwrite(lock, f"{pid}\n".encode(), 0)


def why_dead(folder: SessionFolder, session: Session) -> str:
    """Why a session is dead, as far as it can be told."""
    if session.state == "failed":
        return session.note
    while_at = f" while it was at '{session.note}'" if session.note else ""
    if session.created < _last_start():
        return f"the machine was started again{while_at}"
    try:
        lines = (folder.path / LOG).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        lines = []
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"its process has ended{while_at}" + (f"; it said last: {said[:_SAID]}" if said else "")


def _last_start() -> float:
    """When this machine was started, in seconds since 1970."""
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
