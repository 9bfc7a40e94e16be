"""Head-and-tail truncation of tool output."""

from __future__ import annotations

import re

_MARKER = "\n[… {characters:,} characters ({lines:,} lines) left out …]\n"
_MARKED = re.compile(r"\n\[… ([\d,]+) characters \(([\d,]+) lines\) left out …\]\n")


def truncate(text: str, max_characters: int) -> str:
    """`text` with its middle replaced by a marker when it is longer than `max_characters`.

    The first and last halves of the allowance are kept: a command's output says what it did at
    its start and how it ended at its end. The marker, on a line of its own and not counted in the
    allowance, gives the characters and lines left out. Text that was truncated before may be
    truncated further: the marker then gives the sum.

    Args:
        text: the output.
        max_characters: characters of `text` to keep; 0 keeps everything.

    Raises:
        ValueError: if `max_characters` is negative.
    """
    if max_characters < 0:
        raise ValueError(f"cannot keep {max_characters} characters")
    if max_characters == 0 or len(text) <= max_characters:
        return text
    tail_length = max_characters // 2
    head = text[: max_characters - tail_length]
    tail = text[len(text) - tail_length :]
    left_out = text[len(head) : len(text) - tail_length]
    return f"{head}{_marker(left_out)}{tail}"


def _marker(left_out: str) -> str:
    characters, lines = len(left_out), left_out.count("\n")
    for earlier in _MARKED.finditer(left_out):
        characters += int(earlier[1].replace(",", "")) - len(earlier[0])
        lines += int(earlier[2].replace(",", "")) - earlier[0].count("\n")
    return _MARKER.format(characters=characters, lines=lines)
