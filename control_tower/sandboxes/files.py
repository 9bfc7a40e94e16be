"""Reading and writing files as the agent would: by commands inside any sandbox.

A link that the agent made is followed in the sandbox's view and never on the host. Only regular
files are opened, since a pipe put in a file's place would hang its reader. The scripts start no
further process where they can help it, so that they work when the agent has used its own up.
"""

from __future__ import annotations

import errno
import os

_REGULAR = """
if [ -d "$0" ]; then echo "Is a directory" >&2; exit 1; fi
if [ -e "$0" ] && ! [ -f "$0" ]; then echo "Not a regular file" >&2; exit 1; fi
"""
_READ = f"""{_REGULAR}
exec head -c "$1" -- "$0"
"""
_WRITE = f"""{_REGULAR}
[ -d "$1" ] || mkdir -p -- "$1" || exit 1
exec cat >"$0"
"""

_ENDINGS: tuple[tuple[str, type[OSError], int], ...] = (
    ("No such file", FileNotFoundError, errno.ENOENT),
    ("No such file or directory", FileNotFoundError, errno.ENOENT),
    ("nonexistent directory", FileNotFoundError, errno.ENOENT),
    ("Directory nonexistent", FileNotFoundError, errno.ENOENT),
    ("Not a directory", FileNotFoundError, errno.ENOTDIR),
    ("File exists", FileNotFoundError, errno.ENOTDIR),
    ("Too many levels of symbolic links", FileNotFoundError, errno.ELOOP),
    ("File name too long", FileNotFoundError, errno.ENAMETOOLONG),
    ("Is a directory", IsADirectoryError, errno.EISDIR),
    ("Permission denied", PermissionError, errno.EACCES),
    ("Operation not permitted", PermissionError, errno.EPERM),
    ("Read-only file system", PermissionError, errno.EROFS),
    ("Not a regular file", PermissionError, errno.EACCES),
    ("No space left on device", OSError, errno.ENOSPC),
    ("File too large", OSError, errno.EFBIG),
)
_SIGXFSZ = 128 + 25


def read_command(path: str, limit: int) -> list[str]:
    """The command that prints a file's first `limit` bytes."""
    return ["/bin/sh", "-c", _READ, path, str(limit)]


def write_command(path: str) -> list[str]:
    """The command that writes its input to a file, making the folders above it."""
    return ["/bin/sh", "-c", _WRITE, path, os.path.dirname(path)]


def failure(path: str, returncode: int, stderr: bytes) -> OSError:
    """The error that a failed read or write of `path` stands for."""
    said = stderr.decode(errors="replace").strip()
    if returncode == _SIGXFSZ:
        said = os.strerror(errno.EFBIG)
    for ending, kind, number in _ENDINGS:
        if said.endswith(ending):
            return kind(number, ending, path)
    return OSError(errno.EIO, said or f"the helper ended with exit code {returncode}", path)
