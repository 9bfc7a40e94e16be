"""Sessions on disk: what they are of, how to reach them, and whether their process lives."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import time
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from control_tower.errors import UsageProblem, unknown_name
from control_tower.sandboxes.errors import SandboxRefused
from control_tower.sandboxes.owners import remove_tree, state_root
from control_tower.sandboxes.settings import SandboxSettings

State = Literal["starting", "up", "failed"]
"""What its process last wrote; whether that process lives is another question."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,59}")
_FOLDER = "live"
_CURRENT = "current"
_FILE = "session.json"
_LOCK = "lock"
_SAID = 200
STEPS = "steps.jsonl"
LOG = "server.log"


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
        with contextlib.suppress(UsageProblem, OSError):
            place = Path(self.read().socket).parent
            if place.name.startswith(SOCKETS):
                shutil.rmtree(place)
        remove_tree(self.path)


_TRIES, _LOOK = 20, 0.05
"""How often, and how many seconds apart, a session is tried to be held."""
SOCKETS = "ct-live-"
"""What the name of a socket's folder begins with: a socket's path must be short."""


class Sessions:
    """The sessions of this user on this machine.

    Raises:
        UsageProblem: the state directory cannot be used.
    """

    def __init__(self) -> None:
        try:
            self._root = state_root() / _FOLDER
            self._root.mkdir(mode=0o700, exist_ok=True)
        except (SandboxRefused, OSError) as error:
            raise UsageProblem(f"ct live: {error}") from None

    def all(self) -> list[SessionFolder]:
        """Every session, by name."""
        with os.scandir(self._root) as found:
            names = sorted(each.name for each in found if _is_session(each))
        return [SessionFolder(self._root / name) for name in names]

    def make(self, session: Session) -> SessionFolder:
        """Make a session's folder, which appears whole, and make it the current one.

        Raises:
            UsageProblem: the name is no name, or taken.
        """
        check_name(session.name)
        unfinished = self._root / f".new-{session.id}"
        unfinished.mkdir(mode=0o700)
        SessionFolder(unfinished).write(session)
        folder = SessionFolder(self._root / session.name)
        try:
            unfinished.rename(folder.path)
        except OSError as error:
            remove_tree(unfinished)
            if not os.path.lexists(folder.path):
                raise UsageProblem(f"ct live: {error}") from None
            raise UsageProblem(
                f"--name: there is a session '{session.name}' already; give another name, or "
                f"`ct live down {session.name}` first"
            ) from None
        self.switch(folder)
        return folder

    def free_name(self, wanted: str) -> str:
        """That name, or, where it is taken, the same with a number."""
        taken = {folder.name for folder in self.all()}
        numbered = (wanted if n == 1 else f"{wanted}-{n}" for n in range(1, len(taken) + 2))
        return next(name for name in numbered if name not in taken)

    def find(self, name: str | None) -> SessionFolder:
        """The session of that name; without one, the current one, or the only one.

        Raises:
            UsageProblem: there is none, or it cannot be told which.
        """
        there = {folder.name: folder for folder in self.all()}
        if not there:
            raise UsageProblem("there is no live session; `ct live up` starts one")
        if name is not None:
            if name not in there:
                raise unknown_name("live session", name, there, flag="--name")
            return there[name]
        current = self.current()
        if current in there:
            return there[current]
        if len(there) == 1:
            return next(iter(there.values()))
        raise UsageProblem(
            f"there are several live sessions: {', '.join(there)}; choose one with --name, or "
            "`ct live switch NAME`"
        )

    def current(self) -> str:
        """The name of the session that was chosen last; it may be gone."""
        try:
            return (self._root / _CURRENT).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return ""

    def switch(self, folder: SessionFolder) -> None:
        """Make a session the current one."""
        unfinished = self._root / f".{_CURRENT}.{secrets.token_hex(4)}"
        unfinished.write_text(folder.name + "\n", encoding="utf-8")
        unfinished.replace(self._root / _CURRENT)


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


def told_pid(lock: int, pid: int) -> None:
    """Write down which process keeps the session up whose lock this is."""
    os.pwrite(lock, f"{pid}\n".encode(), 0)


def _is_session(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir() and not entry.name.startswith(".")


def check_name(name: str) -> None:
    """Refuse what cannot name a session.

    Raises:
        UsageProblem: if it cannot.
    """
    if not _NAME.fullmatch(name):
        raise UsageProblem(
            f"--name: '{name}' cannot name a session; use up to 60 lower-case letters, digits, "
            "'.', '_' and '-', with a letter or digit first"
        )


def default_name(environment: str, main_task: str | None, side_task: str | None) -> str:
    """What a session is called if nobody says."""
    parts = [part for part in (environment, main_task, side_task) if part]
    text = re.sub(r"[^a-z0-9_.-]", "-", "-".join(parts).lower()).lstrip("_.-")
    return text[:50] or "session"
