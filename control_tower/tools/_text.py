"""Text edits behind the editor tool: numbering, replacing and inserting, without any I/O."""

from __future__ import annotations


class EditError(Exception):
    """An edit that cannot be made; the message is for the agent."""


def numbered(text: str, first: int = 1, last: int = -1) -> str:
    """Lines `first` to `last` of `text` (1-based, inclusive; -1 is the end), each numbered.

    Raises:
        EditError: if the range lies outside the text.
    """
    lines = _lines(text)
    end = len(lines) if last == -1 else min(last, len(lines))
    if not lines and (first, last) == (1, -1):
        return "(the file is empty)"
    if not 1 <= first <= len(lines) or end < first:
        raise EditError(f"[{first}, {last}] is no range of lines; the file has {len(lines)}.")
    shown = (f"{number:6}\t{lines[number - 1]}" for number in range(first, end + 1))
    return "\n".join(shown)


def replaced(text: str, old: str, new: str) -> tuple[str, int]:
    """`text` with its one occurrence of `old` replaced, and the 1-based line where it began.

    In a file whose lines all end in CRLF, `old` and `new` may be given with plain newlines.

    Raises:
        EditError: if `old` is empty or does not occur exactly once.
    """
    if not old:
        raise EditError("old_str is empty; to add text use insert or create.")
    old, new = _as_in(text, old), _as_in(text, new)
    found = _occurrences(text, old)
    if not found:
        raise EditError("old_str does not occur in the file. It must match exactly, spaces too.")
    lines = [text.count("\n", 0, position) + 1 for position in found]
    if len(found) > 1:
        where = ", ".join(str(line) for line in lines[:10]) + (", …" if len(lines) > 10 else "")
        raise EditError(
            f"old_str occurs {len(found)} times (lines {where}). Add lines around it until it is "
            "unique."
        )
    return text[: found[0]] + new + text[found[0] + len(old) :], lines[0]


def inserted(text: str, after: int, addition: str) -> str:
    """`text` with `addition` as lines of their own after line `after` (0: at the beginning).

    Raises:
        EditError: if there is no such line.
    """
    lines = _lines(text)
    if not 0 <= after <= len(lines):
        raise EditError(f"insert_line must be from 0 to {len(lines)}, not {after}.")
    pieces = text.split("\n")
    ending = "\r\n" if _is_crlf(text) else "\n"
    head = "\n".join(pieces[:after]) + ("\n" if after else "")
    tail = text[len(head) :]
    if len(head) > len(text):  # the last line had no end
        head, tail = text + ending, ""
    addition = _as_in(text, addition)
    if not addition.endswith("\n"):
        addition += ending
    return head + addition + tail


def around(text: str, first: int, count: int, context: int = 4) -> str:
    """The `count` lines from line `first` on with `context` lines on both sides, numbered."""
    length = len(_lines(text))
    if not length:
        return numbered(text)
    start = min(max(1, first - context), length)
    return numbered(text, start, min(length, max(first + count - 1, start) + context))


def line_count(text: str) -> int:
    """Number of lines in `text`; a last line without a newline counts."""
    return len(_lines(text))


def _lines(text: str) -> list[str]:
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1] == "":
        lines.pop()
    return lines


def _occurrences(text: str, wanted: str) -> list[int]:
    found, position = [], text.find(wanted)
    while position != -1:
        found.append(position)
        position = text.find(wanted, position + 1)
    return found


def _is_crlf(text: str) -> bool:
    return "\r\n" in text and text.count("\n") == text.count("\r\n")


def _as_in(text: str, given: str) -> str:
    if not _is_crlf(text):
        return given
    return given.replace("\r\n", "\n").replace("\n", "\r\n")
