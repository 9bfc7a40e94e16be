"""The directories of sandboxes on disk, and whose they are.

    $CT_STATE_DIR or /var/tmp/sandboxes-<uid>/
      .lock                      held for moments, while an owner's directory appears or is claimed
      run-<random>/              one for each process that runs sandboxes
        lock                     held, with flock, for as long as that process lives
        tools/                   a copy of bwrap, for a user who cannot reach the original
        <sandbox>/               workspace/, home/ and holder.json

A sandbox can read these paths in `/proc/self/mountinfo`, whichever way they are mounted. So they
say nothing of what runs there; a path in `CT_STATE_DIR` says what it says.

Liveness is the lock, which the kernel drops when its owner dies: no pid is mistaken for another.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from control_tower.sandboxes.bwrap.host import HostUser, host_user, tool
from control_tower.sandboxes.errors import SandboxRefused

LOCK = "lock"
OWNER = "run-"
"""What the name of an owner's directory starts with; nothing else below the root is touched."""

_FALLBACK = "/mnt"
"""Where an owner's directory is mounted for a sandbox user that cannot reach it by its own path.
The mount is in a mount namespace of the holder's own; the host does not see it."""


def state_root() -> Path:
    """The state directory of this user, made if need be.

    Raises:
        SandboxRefused: it belongs to another user, is no directory, or cannot be made.
    """
    chosen = os.environ.get("CT_STATE_DIR")
    root = Path(chosen).absolute() if chosen else Path(f"/var/tmp/sandboxes-{os.geteuid()}")
    try:
        root.mkdir(mode=0o700, parents=bool(chosen), exist_ok=True)
        found = root.stat() if chosen else root.lstat()
    except OSError as error:
        raise SandboxRefused(_unusable(root, error.strerror or str(error))) from None
    if found.st_uid != os.geteuid():
        raise SandboxRefused(_unusable(root, f"it belongs to user {found.st_uid}"))
    if not chosen:
        _admit(root, host_user())
    return root.resolve()


@contextlib.contextmanager
def changing(root: Path) -> Iterator[None]:
    """Be the only one who makes or claims owners' directories; held for moments only."""
    with open(root / ".lock", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


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
        return _owner(state_root(), os.getpid())

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


def remove_tree(path: Path) -> None:
    """Remove a directory whatever was made in it: unreadable folders, very deep ones.

    Nothing of it may be running any more. A directory that is gone is no error.

    Raises:
        OSError: something could not be removed.
    """
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(path)
        return
    remove = [tool("rm"), "-rf", "--", str(path)]
    if subprocess.run(remove, capture_output=True, check=False).returncode == 0:
        return
    subprocess.run(
        [tool("chmod"), "-R", "u+rwx", "--", str(path)], capture_output=True, check=False
    )
    again = subprocess.run(remove, capture_output=True, check=False)
    if again.returncode != 0:
        raise OSError(f"cannot remove {path}: {again.stderr.decode(errors='replace').strip()}")


@functools.cache
def _owner(root: Path, pid: int) -> Owner:
    """One owner a process and state root; `pid` keeps a forked child from using its parent's."""
    user = host_user()
    path = root / f"{OWNER}{secrets.token_hex(6)}"
    try:
        with changing(root):
            path.mkdir(mode=0o700)
            # Never closed: the lock is to last as long as this process.
            lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.write(lock, str(pid).encode())
        _admit(path, user)
    except OSError as error:
        raise SandboxRefused(_unusable(root, error.strerror or str(error))) from None
    atexit.register(_remove_own, path, pid)
    return Owner(path, user)


def _remove_own(path: Path, pid: int) -> None:
    if os.getpid() == pid:
        with contextlib.suppress(OSError):  # a next run removes what is left
            remove_tree(path)


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


def _unusable(root: Path, reason: str) -> str:
    return f"the state directory {root} cannot be used: {reason}; name another with CT_STATE_DIR"
