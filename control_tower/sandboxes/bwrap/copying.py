"""Copying a code base into a workspace."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat

from control_tower.sandboxes.bwrap.host import HostUser

_FICLONE = 0x40049409
"""ioctl that shares a file's blocks until one copy is written; not every file system has it."""

_CHUNK = 1024 * 1024


def copy_tree(source: str, target: str, user: HostUser) -> None:
    """Copy the directory `source` to the new directory `target`, for `user` to write.

    Symbolic links stay links, whatever they point to. Modes and times stay, except that the owner
    may always read and write, and set-id bits go. Sockets, pipes and devices are left out.

    Raises:
        OSError: something could not be read or written.
    """
    pending = [(source, target)]
    folders: list[tuple[str, os.stat_result]] = []
    while pending:
        here, there = pending.pop()
        os.mkdir(there, 0o700)
        folders.append((there, os.stat(here)))
        with os.scandir(here) as entries:
            for entry in entries:
                to = os.path.join(there, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    pending.append((entry.path, to))
                elif entry.is_symlink():
                    os.symlink(os.readlink(entry.path), to)
                    _give(to, user)
                elif entry.is_file(follow_symlinks=False):
                    _copy_file(entry.path, to, user)
    # Deepest last in, first out: a folder's times are set after its contents were made.
    for path, found in reversed(folders):
        _finish(path, found, user, least=0o700)


def _copy_file(source: str, target: str, user: HostUser) -> None:
    with open(source, "rb") as read, open(target, "xb") as write:
        found = os.fstat(read.fileno())
        try:
            fcntl.ioctl(write.fileno(), _FICLONE, read.fileno())
        except OSError:
            shutil.copyfileobj(read, write, _CHUNK)
    _finish(target, found, user, least=0o600)


def _finish(path: str, found: os.stat_result, user: HostUser, *, least: int) -> None:
    _give(path, user)
    os.chmod(path, (stat.S_IMODE(found.st_mode) & 0o777) | least)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def _give(path: str, user: HostUser) -> None:
    if user.dropped:
        os.lchown(path, user.uid, user.gid)
