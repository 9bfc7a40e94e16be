"""The directory that each process which runs sandboxes has, and whether its owner lives.

    $CT_STATE_DIR or /var/tmp/sandboxes-<uid>/
      .lock                      held for moments, while an owner's directory appears or is claimed
      run-<random>/              one for each process that runs sandboxes
        lock                     held, with flock, for as long as that process lives
        *.outstanding            says that something is to be removed elsewhere, before this is
        …                        what its sandboxes keep there

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
from pathlib import Path

from control_tower.sandboxes.errors import SandboxRefused

LOCK = "lock"
OWNER = "run-"
"""What the name of an owner's directory starts with; nothing else below the root is touched."""
OUTSTANDING = ".outstanding"
"""What the name of a file in it ends in that keeps it when its process ends, for the next run:
something outside of it is still to be removed."""


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
    return root.resolve()


def own_directory() -> Path:
    """This process's own directory, made at the first call and removed when the process ends.

    It stays while it has a file that ends in `OUTSTANDING`.

    Raises:
        SandboxRefused: the state directory cannot be used.
    """
    return _own_directory(state_root(), os.getpid())


@contextlib.contextmanager
def changing(root: Path) -> Iterator[None]:
    """Be the only one who makes or claims owners' directories; held for moments only."""
    with open(root / ".lock", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def directories_of_the_dead() -> Iterator[Path]:
    """Directories whose owner has died, each claimed while the caller is at it.

    A live one's are never given, and of two callers at once each directory goes to one.

    Raises:
        SandboxRefused: the state directory cannot be used.
    """
    root = state_root()
    for path in sorted(root.glob(f"{OWNER}*")):
        claim = _claim(root, path)
        if claim is None:
            continue
        try:
            yield path
        finally:
            os.close(claim)


def is_alive(directory: Path) -> bool:
    """Whether the process lives whose own directory this is; nothing is claimed.

    One that this user may not look at counts as alive.
    """
    try:
        lock = os.open(directory / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    try:
        # Nobody claims a directory meanwhile, who would take this look for an owner that lives.
        with changing(directory.parent):
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(lock, fcntl.LOCK_UN)  # a child being forked would keep it
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def is_gone(directory: Path) -> bool:
    """Whether it was an owner's directory of this state directory, and is no more.

    Raises:
        SandboxRefused: the state directory cannot be used.
    """
    ours = directory.parent == state_root() and directory.name.startswith(OWNER)
    return ours and not directory.exists()


def remove_tree(path: Path) -> None:
    """Remove a directory whatever was made in it: unreadable folders, very deep ones.

    Nothing of it may be running any more. A directory that is gone is no error.

    Args:
        path: absolute, so that a text that turns out empty is not the current directory.

    Raises:
        OSError: something could not be removed.
        ValueError: the path is relative.
    """
    if not path.is_absolute():
        raise ValueError(f"'{path}' is not removed: it is a relative path")
    # In this process where that works, since a program costs more; it can neither enter folders
    # without permissions nor go down very deep.
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(path)
        return
    remove = ["rm", "-rf", "--", str(path)]
    if subprocess.run(remove, capture_output=True, check=False).returncode == 0:
        return
    subprocess.run(["chmod", "-R", "u+rwx", "--", str(path)], capture_output=True, check=False)
    again = subprocess.run(remove, capture_output=True, check=False)
    if again.returncode != 0:
        raise OSError(f"cannot remove {path}: {again.stderr.decode(errors='replace').strip()}")


@functools.cache
def _own_directory(root: Path, pid: int) -> Path:
    """One a process and state root; `pid` keeps a forked child from using its parent's."""
    path = root / f"{OWNER}{secrets.token_hex(6)}"
    try:
        with changing(root):
            path.mkdir(mode=0o700)
            # Never closed: the lock is to last as long as this process.
            lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.write(lock, str(pid).encode())
    except OSError as error:
        raise SandboxRefused(_unusable(root, error.strerror or str(error))) from None
    atexit.register(_remove_own, path, pid)
    return path


def _remove_own(path: Path, pid: int) -> None:
    if os.getpid() == pid and not any(path.glob(f"*{OUTSTANDING}")):
        with contextlib.suppress(OSError):  # a next run removes what is left
            remove_tree(path)


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


def _unusable(root: Path, reason: str) -> str:
    return f"the state directory {root} cannot be used: {reason}; name another with CT_STATE_DIR"
