"""Makes the agent's text safe to put between tags: it can neither close one nor write one."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_PLAIN = r"\t\n\x20-\x25\x27-\x3b\x3d\x3f-\x7e"
_OTHER = re.compile(f"[^{_PLAIN}]")
_MARKUP = frozenset('<>&"')

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Unicode's Default_Ignorable_Code_Point: what is drawn as nothing at all."""


def escape(text: str) -> str:
    """`text` as it may stand between tags.

    `<`, `>` and `&` become entities. Characters that are drawn as nothing, that change the
    direction of text, that control a terminal, or that Unicode's compatibility forms turn into
    markup (such as U+FF1C) are shown as `\\u` escapes. Line breaks and tabs stay.
    """
    return _OTHER.sub(lambda found: _shown(found[0]), text)


def attribute(text: str, most: int = 200) -> str:
    """`text` as it may stand in a tag's quoted attribute, on one line, cut to `most` characters."""
    cut = text if len(text) <= most else f"{text[:most]}…"
    shown = escape(cut).replace('"', "&quot;")
    return shown.replace("\n", "\\u000a").replace("\t", "\\u0009")


def excerpt(text: str, most: int) -> str:
    """Head and tail of `text`, escaped, with a tag between them that says how much is left out.

    Args:
        text: what the agent or its tools wrote.
        most: characters of `text` to keep; 0 keeps everything.
    """
    if most == 0 or len(text) <= most:
        return escape(text)
    tail = most // 2
    head = most - tail
    left_out = len(text) - most
    end = escape(text[len(text) - tail :])
    return f'{escape(text[:head])}\n<left_out characters="{left_out}"/>\n{end}'


@lru_cache(maxsize=4096)
def _shown(character: str) -> str:
    if character in _ENTITIES:
        return _ENTITIES[character]
    category = unicodedata.category(character)
    hidden = category.startswith("C") or category in {"Zl", "Zp"}
    compatible = unicodedata.normalize("NFKD", character)
    if hidden or _INVISIBLE.match(character) or not _MARKUP.isdisjoint(compatible):
        code = ord(character)
        return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
    return character
