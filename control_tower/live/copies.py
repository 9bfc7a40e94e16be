"""Files on their way into a sandbox, and the scripts that bring them there again."""

from __future__ import annotations

import base64
import gzip
import io
import shlex
import stat
import tarfile
from pathlib import Path

from control_tower.errors import UsageProblem
from control_tower.live.steps import Entry
from control_tower.live.wire import LARGEST

_INSIDE = "x"
"""The name in the archive, which `Work.put` expects."""
MARKER = "\x00target\x00"
"""Where a script names its target, before that is known."""
_LARGEST_SCRIPT = 1024 * 1024
"""Bytes of a script that does a copy again."""
_END = "END_OF_FILE"
_USUAL_MODE = 0o644


def packed(source: Path) -> bytes:
    """A tar of a file or folder, under the name that the session's process expects.

    Raises:
        UsageProblem: it cannot be read, or is too big.
    """
    archive = io.BytesIO()

    def checked(member: tarfile.TarInfo) -> tarfile.TarInfo:
        if archive.tell() + member.size > LARGEST - tarfile.RECORDSIZE:
            size = LARGEST // 1024 // 1024
            raise UsageProblem(
                f"{source}: it is bigger than the {size} MiB that can be copied at once"
            )
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            raise UsageProblem(
                f"{source}: '{member.name}' in it is neither a file nor a folder nor a link"
            )
        return member

    try:
        with tarfile.open(fileobj=archive, mode="w", dereference=False) as tar:
            tar.add(source.resolve(), arcname=_INSIDE, filter=checked)
    except OSError as error:
        raise UsageProblem(f"{source} cannot be read: {error.strerror or error}") from None
    return archive.getvalue()


def entry_for(source: Path, archive: bytes) -> Entry:
    """What is recorded of a copy into the sandbox; its command has `MARKER` for the target."""
    command = _text_script(source) or _archive_script(archive)
    if len(command) > _LARGEST_SCRIPT:
        size = len(archive) // 1024
        problem = f"copying {source.name!r} ({size} KiB) is too big for a script"
        return Entry(kind="copy", command=f"# {problem}", problem=problem)
    return Entry(kind="copy", command=command)


def resolved(command: str, target: str) -> str:
    """The command for a target that is known."""
    return command.replace(MARKER, shlex.quote(target))


def _text_script(source: Path) -> str | None:
    """A here-document, for one file of plain text."""
    if source.is_dir():
        return None
    try:
        text = source.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None
    plain = text.endswith("\n") and "\r" not in text and "\x00" not in text
    if not plain or f"\n{_END}\n" in f"\n{text}":
        return None
    lines = [f'mkdir -p "$(dirname {MARKER})"', f"cat >{MARKER} <<'{_END}'", text + _END]
    mode = stat.S_IMODE(source.stat().st_mode) & 0o777
    if mode != _USUAL_MODE:
        lines.append(f"chmod {mode:o} {MARKER}")
    return "\n".join(lines)


def _archive_script(archive: bytes) -> str:
    """An archive in the script itself, for anything else."""
    encoded = base64.encodebytes(gzip.compress(archive, mtime=0)).decode()
    return (
        f"mkdir -p {MARKER}.new\n"
        f"base64 -d <<'{_END}' | tar -xzpof - -C {MARKER}.new\n{encoded}{_END}\n"
        f"if [ -d {MARKER} ]; then cp -a {MARKER}.new/{_INSIDE}/. {MARKER}/; "
        f"else mv -T {MARKER}.new/{_INSIDE} {MARKER}; fi\n"
        f"rm -rf {MARKER}.new"
    )
