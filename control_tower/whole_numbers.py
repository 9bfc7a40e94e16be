"""Whole numbers that users write, checked in one way for every front end."""

from __future__ import annotations

from control_tower.errors import UsageProblem


def whole_number(value: str | int, minimum: int, *, flag: str) -> int:
    """The number that a user gave.

    Args:
        value: as it was written, or a number already.
        minimum: the smallest that is allowed.
        flag: what it was written after.

    Raises:
        UsageProblem: it is no whole number, or below `minimum`.
    """
    try:
        number = int(value)
    except ValueError:
        raise UsageProblem(
            f"{flag}: '{value}' is not a whole number of {minimum} or more"
        ) from None
    if number < minimum:
        raise UsageProblem(f"{flag}: {number} is below {minimum}")
    return number
