"""What a component's docstring says of it and of its parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_SECTION = re.compile(r"(Args|Arguments|Raises|Returns|Yields|Example|Examples|Note|Notes):\s*")
_ENTRY = re.compile(r"(\w+)(?: \([^)]*\))?:\s*(.*)")


@dataclass(frozen=True)
class Documentation:
    """A factory's docstring in Google's style, taken apart."""

    paragraphs: tuple[str, ...]
    """Its text before the first section, a line each; the first is the summary."""
    arguments: dict[str, str]
    """What its section "Args" says, by parameter, a line each."""

    @property
    def summary(self) -> str:
        """What it is, in one line; empty if nobody says it."""
        return self.paragraphs[0] if self.paragraphs else ""


def documentation(factory: Callable[..., Any]) -> Documentation:
    """The documentation of a component's factory."""
    sections = _sections(inspect.getdoc(factory) or "")
    text = "\n".join(sections.get("", ()))
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))
    entries = sections.get("Args") or sections.get("Arguments") or []
    return Documentation(tuple(filter(None, paragraphs)), _entries(entries))


def _sections(text: str) -> dict[str, list[str]]:
    """Lines by section; those before the first have an empty name."""
    name = ""
    sections: dict[str, list[str]] = {name: []}
    for line in text.splitlines():
        heading = _SECTION.fullmatch(line)
        if heading:
            name = heading[1]
            sections[name] = []
        else:
            sections[name].append(line)
    return sections


def _entries(lines: list[str]) -> dict[str, str]:
    """The entries of a section; lines that are further in than the first go on with theirs."""
    written = [line for line in lines if line.strip()]
    if not written:
        return {}
    indent = len(written[0]) - len(written[0].lstrip())
    found: dict[str, list[str]] = {}
    name = ""
    for line in written:
        entry = _ENTRY.fullmatch(line.strip())
        if entry and len(line) - len(line.lstrip()) <= indent:
            name = entry[1]
            found[name] = [entry[2]]
        elif name:
            found[name].append(line.strip())
    return {name: " ".join(filter(None, parts)) for name, parts in found.items()}
