"""Texts that somebody else wrote, in one line of a message."""

from __future__ import annotations


def one_line(text: str, *, most: int = 300) -> str:
    """The text on one line, cut after `most` characters; what is invisible is escaped."""
    shown = " ".join(text[: 4 * most].split())
    cut = len(shown) > most or len(text) > 4 * most
    return visible(shown[:most]) + (" …" if cut else "")


def visible(text: str) -> str:
    """The text with what cannot be printed escaped, so that it cannot move a cursor."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
