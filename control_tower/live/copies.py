"""Files on their way into a sandbox, as one does it again with a script, and out of it."""

from __future__ import annotations

import base64
import gzip
import io
import shlex
import shutil
import tarfile
import tempfile
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


def packed(source: Path) -> bytes:
    """A tar of a file or folder, under the name that the session's process expects.

    Raises:
        UsageProblem: it cannot be read, or is too big.
    """
    archive = io.BytesIO()
    try:
        with tarfile.open(fileobj=archive, mode="w", dereference=False) as tar:
            tar.add(source.resolve() if source.is_file() else source, arcname=_INSIDE)
    except OSError as error:
        raise UsageProblem(f"{source} cannot be read: {error.strerror or error}") from None
    data = archive.getvalue()
    if len(data) > LARGEST:
        size = LARGEST // 1024 // 1024
        raise UsageProblem(f"{source}: it is bigger than the {size} MiB that can be copied at once")
    return data


def entry_for(source: Path, archive: bytes) -> Entry:
    """What is recorded of a copy into the sandbox; its command has `MARKER` for the target."""
    command = _text_script(source) or _archive_script(archive)
    if len(command) > _LARGEST_SCRIPT:
        size = len(archive) // 1024
        return Entry(
            kind="copy",
            command=f"# {source.name} ({size} KiB) was copied to {MARKER}",
            problem=f"copying {source.name} ({size} KiB) is too big for a script",
        )
    return Entry(kind="copy", command=command)


def resolved(command: str, target: str) -> str:
    """The command for a target that is known."""
    return command.replace(MARKER, shlex.quote(target))


def unpack(archive: bytes, target: Path) -> Path:
    """Unpack what came out of a sandbox; returns where it is.

    What is in it is not trusted: nothing outside the target is written, links lead nowhere else,
    and there are no devices.

    Args:
        archive: a tar with one file or folder.
        target: its new name, or a folder that it goes into.

    Raises:
        UsageProblem: it cannot be written, something is there, or it would go elsewhere.
    """
    if not hasattr(tarfile, "data_filter"):
        raise UsageProblem("cp-from needs a Python with tarfile.data_filter: 3.11.4 or newer")
    parent = target if target.is_dir() else target.parent
    try:
        with tempfile.TemporaryDirectory(dir=parent, prefix=".ct-live-") as place:
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                tar.extractall(place, filter="data")
            [found] = list(Path(place).iterdir())
            final = target / found.name if target.is_dir() else target
            if final.exists() or final.is_symlink():
                if final.is_dir() or found.is_dir():
                    raise UsageProblem(f"{final} is there already; name another place")
                final.unlink()
            shutil.move(found, final)
    except tarfile.TarError as error:
        raise UsageProblem(f"it would not stay in {parent}: {error}") from None
    except (OSError, ValueError) as error:
        raise UsageProblem(f"it cannot be written to {target}: {error}") from None
    return final


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
    if source.stat().st_mode & 0o111:
        lines.append(f"chmod +x {MARKER}")
    return "\n".join(lines)


def _archive_script(archive: bytes) -> str:
    """An archive in the script itself, for anything else."""
    encoded = base64.encodebytes(gzip.compress(archive, mtime=0)).decode()
    return (
        f"mkdir -p {MARKER}.new\n"
        f"base64 -d <<'{_END}' | tar -xzof - -C {MARKER}.new\n{encoded}{_END}\n"
        f"if [ -d {MARKER} ]; then cp -a {MARKER}.new/{_INSIDE}/. {MARKER}/; "
        f"else mv -T {MARKER}.new/{_INSIDE} {MARKER}; fi\n"
        f"rm -rf {MARKER}.new"
    )
