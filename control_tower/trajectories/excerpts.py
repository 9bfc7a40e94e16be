"""Long texts, shortened so that what matters of them stays."""

from __future__ import annotations

from itertools import takewhile

_BEFORE = 40
"""Characters before the first difference that are kept, where no number is given."""


def shortened(text: str, *, lines: int, columns: int) -> list[str]:
    """The text's lines, of many the first and the last, each cut in the middle if it is long.

    Args:
        text: the text; an end of line at its end does not count.
        lines: how many there are at most, one that says what is left out aside.
        columns: how many characters a line has at most, what says so aside.
    """
    found = text.rstrip("\n").split("\n")
    if len(found) > lines:
        first, last = lines - lines // 2, lines // 2
        left_out = f"… {len(found) - lines} lines …"
        found = [*found[:first], left_out, *found[len(found) - last :]]
    return [middle_left_out(line, columns) for line in found]


def middle_left_out(line: str, most: int) -> str:
    """The line; of a long one, its two ends."""
    if len(line) <= most:
        return line
    first, last = most - most // 2, most // 2
    return f"{line[:first]} … {len(line) - most} characters … {line[len(line) - last :]}"


def first_differing_lines(
    first: str, second: str, *, most: int = 300
) -> tuple[int, str | None, str | None]:
    """The first line, counted from 1, in which two texts differ; None for one that has ended.

    Of lines with more than about `most` characters, what is around the difference is shown.
    """
    one, other = first.split("\n"), second.split("\n")
    for number in range(max(len(one), len(other))):
        a = one[number] if number < len(one) else None
        b = other[number] if number < len(other) else None
        if a != b:
            return number + 1, *around_difference(a, b, most=most)
    return 0, None, None


def around_difference(
    first: str | None, second: str | None, *, most: int, before: int = _BEFORE
) -> tuple[str | None, str | None]:
    """Both texts, cut to about `most` characters around where they begin to differ.

    Args:
        first: a text; None where there is none.
        second: another.
        most: characters of either that are kept.
        before: of those, how many before the first that differs.
    """
    pairs = zip(first or "", second or "", strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    start = max(0, same - before) if max(len(first or ""), len(second or "")) > most else 0
    cut_first, cut_second = (_window(text, start, most) for text in (first, second))
    return cut_first, cut_second


def _window(text: str | None, start: int, most: int) -> str | None:
    if text is None or (start == 0 and len(text) <= most):
        return text
    before, after = ("… " if start else ""), (" …" if len(text) > start + most else "")
    return f"{before}{text[start : start + most]}{after}"
