"""Errors that are a user's to mend, and the one way unknown names are reported."""

from __future__ import annotations

import difflib
import stat
from collections.abc import Iterable
from pathlib import Path


class UsageProblem(Exception):
    """A bad option, name or combination: one clear line, shown without a traceback (exit 4)."""


def nearest(value: str, valid: Iterable[str], *, most: int = 3) -> list[str]:
    """The names in `valid` closest to `value`, nearest first, at most `most` of them."""
    folded: dict[str, str] = {}
    for name in valid:
        folded.setdefault(_fold(name), name)
    return [folded[key] for key in difflib.get_close_matches(_fold(value), folded, n=most)]


def unknown_name(kind: str, value: str, valid: Iterable[str], *, flag: str) -> UsageProblem:
    """The usage problem for a `value` of `flag` that names no `kind`, with the nearest names."""
    return UsageProblem(f"{flag}: {unknown_words(kind, value, valid)}")


def unknown_words(kind: str, value: str, valid: Iterable[str]) -> str:
    """What to say of a `value` that names no `kind`: the nearest names, or up to twelve others."""
    names = sorted(set(valid))
    close = nearest(value, names)
    if close:
        hint = f"did you mean {spoken(close)}?"
    elif names:
        shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
        hint = f"valid: {shown}"
    else:
        hint = "none is available"
    return f"no {kind} is named '{value}'; {hint}"


def user_path(text: str, *, flag: str) -> Path:
    """A path that a user wrote, with `~` in its place.

    Raises:
        UsageProblem: if `~name` names nobody; `flag` is what it was written after.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise UsageProblem(f"{flag}: '{text}': nobody with that name has a home folder") from None


def is_directory(path: Path) -> bool:
    """Whether there is such a directory; a path that cannot be is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether there is such a file; a path that cannot be is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def check_regular(path: Path) -> None:
    """Refuse what might never end when it is read, such as a pipe.

    Raises:
        OSError: if it is no regular file, or none can be there.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("it is no regular file")


def current_folder() -> Path:
    """The current folder.

    Raises:
        UsageProblem: if it was removed.
    """
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageProblem("the current folder was removed; change to one that exists") from None


def _fold(name: str) -> str:
    return name.lower().replace("_", "-")


def spoken(names: list[str]) -> str:
    """The names in quotes, with "or" before the last."""
    quoted = [f"'{name}'" for name in names]
    if len(quoted) == 1:
        return quoted[0]
    return ", ".join(quoted[:-1]) + " or " + quoted[-1]
