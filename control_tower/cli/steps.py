"""Steps that a user chooses: `3`, `2-5`, `2-5,7`."""

from __future__ import annotations

from collections.abc import Iterable

from control_tower.errors import UsageProblem


def steps_in(texts: Iterable[str], count: int, *, flag: str) -> frozenset[int] | None:
    """The chosen positions, from 0; None if nothing is chosen.

    Args:
        texts: what the user wrote, each with commas between parts.
        count: how many steps there are.
        flag: what the user wrote it after.

    Raises:
        UsageProblem: for what is no number or range, or beyond the last step.
    """
    chosen: set[int] = set()
    parts = [part.strip() for text in texts for part in text.split(",")]
    for part in parts:
        first, dash, last = part.partition("-")
        ends = (first, last) if dash else (first, first)
        if not all(end.isascii() and end.isdigit() and len(end) < 10 for end in ends):
            raise UsageProblem(f"{flag}: '{part}' is no step; write 3, 2-5 or 2-5,7")
        low, high = (int(end) for end in ends)
        if high < low:
            raise UsageProblem(f"{flag}: '{part}' goes backwards; write {high}-{low}")
        if high >= count:
            there = f"steps 0 to {count - 1}" if count else "no step"
            raise UsageProblem(f"{flag}: '{part}' is not there; there are {there}")
        chosen.update(range(low, high + 1))
    return frozenset(chosen) if parts else None
