"""Prompts in files of their own, with places such as `{{task}}` that are filled in.

A file of the user's takes the place of the packaged one; it may leave places out. What is filled in
is never looked through for places, so that an agent's text cannot name one.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from control_tower.errors import check_regular, unknown_words

_PLACE = re.compile(r"\{\{\s*([A-Za-z_]+)\s*\}\}")


@dataclass(frozen=True)
class Prompt:
    """A prompt's text, and the places it may have."""

    text: str
    places: frozenset[str]

    def filled(self, **values: str) -> str:
        """The text with every place filled in; `values` has one for each of `places`."""
        return _PLACE.sub(lambda found: values[found[1]], self.text).strip()


def prompt(own: str | None, *, package: str, name: str, places: Collection[str]) -> Prompt:
    """The user's prompt, or the packaged one.

    Args:
        own: path of a file of the user's, relative to the current folder; None: the packaged one.
        package: the package with the file `prompts/<name>.md`.
        name: of the packaged prompt.
        places: what may be filled in.

    Raises:
        ValueError: the file cannot be read, is empty, or has a place that is not one of `places`.
    """
    if own is None:
        text = (files(package) / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    else:
        text = _read(own)
    for place in _PLACE.findall(text):
        if place not in places:
            shown = f"prompt '{own or name}'"
            raise ValueError(f"{shown}: {unknown_words('place', place, places)}")
    return Prompt(text, frozenset(places))


def _read(own: str) -> str:
    try:
        path = Path(own).expanduser()
        check_regular(path)
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError, RuntimeError) as error:
        raise ValueError(f"prompt '{own}' cannot be read: {error}") from None
    if not text.strip():
        raise ValueError(f"prompt '{own}' is empty")
    return text
