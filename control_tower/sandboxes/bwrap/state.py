"""The directories of sandboxes on disk, in the directory of the process that owns them.

    run-<random>/                see `control_tower.sandboxes.owners`
      tools/                     a copy of bwrap, for a user who cannot reach the original
      <sandbox>/                 workspace/, home/ and holder.json

A sandbox can read these paths in `/proc/self/mountinfo`, whichever way they are mounted. So they
say nothing of what runs there; a path in `CT_STATE_DIR` says what it says.
"""

from __future__ import annotations

import functools
import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from control_tower.sandboxes.bwrap.host import HostUser, host_user, tool
from control_tower.sandboxes.errors import SandboxRefused
from control_tower.sandboxes.owners import changing, own_directory

_FALLBACK = "/mnt"
"""Where an owner's directory is mounted for a sandbox user that cannot reach it by its own path.
The mount is in a mount namespace of the holder's own; the host does not see it."""


@dataclass(frozen=True)
class Owner:
    """This process's own directory below the state root."""

    path: Path
    user: HostUser

    @classmethod
    def current(cls) -> Owner:
        """The directory of this process, made at the first call.

        Raises:
            SandboxRefused: the state directory cannot be used.
        """
        return _owner(own_directory())

    def new_sandbox(self) -> Path:
        """Make an empty directory for one more sandbox."""
        path = self.path / secrets.token_hex(6)
        path.mkdir(mode=0o700)
        _admit(path, self.user)
        return path

    @functools.cache  # noqa: B019 - one owner a process
    def reach(self) -> tuple[tuple[str, ...], str]:
        """How the sandbox's user gets at this directory.

        Returns:
            Arguments to put before a command that runs as root, and the directory's path for it.
        """
        if not self.user.dropped or _traversable(self.path, self.user):
            return (), str(self.path)
        private = (tool("unshare"), "--mount", "--propagation", "private", "--", tool("sh"), "-c")
        script = f'mount --bind "$0" {_FALLBACK} && exec "$@"'
        return (*private, script, str(self.path)), _FALLBACK

    @functools.cache  # noqa: B019 - one owner a process
    def reachable_copy(self, binary: Path) -> str:
        """A path of `binary` that the sandbox's user can execute.

        One in a virtual environment may lie below a folder that only root may enter. It is then
        copied, with the libraries beside it, and the path is relative to this directory.
        """
        if not self.user.dropped or _traversable(binary.resolve().parent, self.user):
            return str(binary)
        copied = Path("tools", *binary.parts[-3:])
        with changing(self.path):
            if not (self.path / copied).exists():
                self._copy_package(binary)
        return str(copied)

    def _copy_package(self, binary: Path) -> None:
        package = binary.parents[1]
        fresh = self.path / f".{secrets.token_hex(4)}"
        target = fresh.joinpath(*binary.parts[-3:])
        target.parent.mkdir(parents=True)
        shutil.copy(binary, target)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, fresh / libraries.name)
        for folder, _, files in os.walk(fresh):
            os.chmod(folder, 0o755)
            for name in files:
                os.chmod(os.path.join(folder, name), 0o755)
        fresh.rename(self.path / "tools")


@functools.cache
def _owner(path: Path) -> Owner:
    user = host_user()
    try:
        if not os.environ.get("CT_STATE_DIR"):
            _admit(path.parent, user)
        _admit(path, user)
    except OSError as error:
        raise SandboxRefused(f"the state directory {path} cannot be used: {error}") from None
    return Owner(path, user)


def _admit(path: Path, user: HostUser) -> None:
    """Let the sandbox's group, and nobody else, pass through a directory of ours."""
    if user.dropped:
        os.chown(path, -1, user.gid)
        path.chmod(0o710)


def _traversable(path: Path, user: HostUser) -> bool:
    for folder in (path, *path.parents):
        found = folder.stat()
        allowed = 0o010 if found.st_gid == user.gid else 0o001
        if not found.st_mode & allowed:
            return False
    return True
