"""Unpacking what comes out of a sandbox, none of which is trusted.

The archive's names and links are looked at as text before anything is made of them, and links are
made last: so while files are written there is no link that one could lead through. Nothing is
asked of `tarfile` but to read headers.
"""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
from pathlib import Path

from control_tower.errors import UsageProblem

_Parts = tuple[str, ...]
_PERMISSIONS = 0o777
_OWN = 0o700
_DEEPEST = 100
"""Folders in one another: what is deeper cannot be removed again by the library."""
_SHOWN = 200


class _Refused(Exception):
    """The archive has what must not be unpacked; the text says what."""


def unpack(archive: bytes, target: Path, *, name: str) -> Path:
    """Unpack one file or folder; returns where it is.

    Nothing but that is written: no link in it leads out of it, and there are no devices. A file
    takes the place of another one; a folder, of nothing.

    Args:
        archive: a tar with one file or folder, however that calls itself.
        target: its new name, or a folder that it goes into.
        name: what it is called in a folder that it goes into.

    Raises:
        UsageProblem: it is not as it should be, something is there, or it cannot be written.
    """
    final = target / name if target.is_dir() else target
    try:
        with tempfile.TemporaryDirectory(dir=final.parent, prefix=".ct-live-") as place:
            # Not compressed ones, which might be much bigger than they look.
            with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
                found = _Unpacking(tar, Path(place)).all()
            if (final.is_dir() or found.is_dir()) and os.path.lexists(final):
                raise UsageProblem(f"{final} is there already; name another place")
            found.replace(final)
    except _Refused as refusal:
        raise UsageProblem(f"it is not copied: {refusal}") from None
    except RecursionError:
        raise UsageProblem("what came is no archive: its headers have no end") from None
    except tarfile.TarError as error:
        raise UsageProblem(f"what came is no archive: {error}") from None
    except (OSError, ValueError) as error:
        raise UsageProblem(f"it cannot be written to {target}: {error}") from None
    return final


class _Unpacking:
    """One archive on its way into a new folder.

    Args:
        tar: the archive.
        place: an empty folder that nobody else can write.
    """

    def __init__(self, tar: tarfile.TarFile, place: Path) -> None:
        self._tar = tar
        self._place = place
        self._folders: dict[_Parts, int] = {(): _OWN}
        """With their permissions."""
        self._files: set[_Parts] = set()
        self._links: dict[_Parts, str] = {}

    def all(self) -> Path:
        """Unpack everything; the one file or folder that it is."""
        for member in self._tar:
            self._one(member)
        for link, leads_to in self._links.items():
            self._path(link).symlink_to(leads_to)
        for folder, mode in reversed(self._folders.items()):
            self._path(folder).chmod(mode | _OWN)
        tops = {parts[0] for parts in (*self._folders, *self._files) if parts}
        if len(tops) != 1:
            raise _Refused(f"it has {len(tops)} files and folders in place of one")
        return self._place / tops.pop()

    def _one(self, member: tarfile.TarInfo) -> None:
        parts = _parts(member.name)
        if member.isdir():
            self._make_folder(parts, member.mode & _PERMISSIONS)
            return
        self._make_folder(parts[:-1], _OWN)
        if parts in self._folders or parts in self._files or parts in self._links:
            raise _Refused(f"{member.name!r} is in it twice")
        if member.issym():
            self._links[parts] = _inside(parts, member.linkname)
        elif member.islnk():
            self._link(parts, _parts(member.linkname))
        elif member.isreg() and not member.issparse():
            self._write(parts, member)
        else:
            raise _Refused(f"{member.name!r} is neither a file nor a folder nor a link")

    def _make_folder(self, parts: _Parts, mode: int) -> None:
        for end in range(1, len(parts) + 1):
            above = parts[:end]
            if above in self._files or above in self._links:
                raise _Refused(f"{'/'.join(parts)!r} is within what is no folder")
            if above not in self._folders:
                self._path(above).mkdir(mode=_OWN)
                self._folders[above] = mode

    def _write(self, parts: _Parts, member: tarfile.TarInfo) -> None:
        contents = self._tar.extractfile(member)
        assert contents is not None  # of a regular file there always are
        with self._path(parts).open("xb") as file:
            shutil.copyfileobj(contents, file)
            os.fchmod(file.fileno(), member.mode & _PERMISSIONS)
        self._files.add(parts)

    def _link(self, parts: _Parts, other: _Parts) -> None:
        if other not in self._files:
            raise _Refused(f"{'/'.join(parts)!r} is the same file as one that is not in it")
        os.link(self._path(other), self._path(parts))
        self._files.add(parts)

    def _path(self, parts: _Parts) -> Path:
        return self._place.joinpath(*parts)


def _parts(name: str) -> _Parts:
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if name.startswith("/") or ".." in parts or not parts:
        raise _Refused(f"{name[:_SHOWN]!r} would be somewhere else")
    if len(parts) > _DEEPEST:
        raise _Refused(f"{name[:_SHOWN]!r} … is nested too deeply")
    return parts


def _inside(link: _Parts, leads_to: str) -> str:
    """Where a link leads, if that is within what is unpacked, whatever other links there are.

    So only the first parts may be `..`: the folders that a link is in are no links.
    """
    if len(link) == 1:
        raise _Refused(f"{link[0]!r} is a link; copy what it leads to")
    rest = [part for part in leads_to.split("/") if part not in ("", ".")]
    up = 0
    while up < len(rest) and rest[up] == "..":
        up += 1
    # At least the outermost folder must be left of those above the link.
    if leads_to.startswith("/") or ".." in rest[up:] or up > len(link) - 2:
        raise _Refused(f"the link {'/'.join(link)!r} leads out of it, to {leads_to!r}")
    return leads_to
