"""All sessions of a user on a machine: their names, and which one is meant."""

from __future__ import annotations

import os
import re
import secrets

from control_tower.errors import UsageProblem, unknown_name
from control_tower.live.session import Session, SessionFolder
from control_tower.sandboxes.errors import SandboxRefused
from control_tower.sandboxes.owners import remove_tree, state_root

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,59}")
_FOLDER = "live"
_CURRENT = "current"


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

    def find(self, name: str | None, *, flag: str = "--name") -> SessionFolder:
        """The session of that name; without one, the current one, or the only one.

        Args:
            name: what the user wrote, if anything.
            flag: what the user wrote it after.

        Raises:
            UsageProblem: there is none, or it cannot be told which.
        """
        there = {folder.name: folder for folder in self.all()}
        if not there:
            raise UsageProblem("there is no live session; `ct live up` starts one")
        if name is not None:
            if name not in there:
                raise unknown_name("live session", name, there, flag=flag)
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
