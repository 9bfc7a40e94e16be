"""Checks of a monitor's arguments."""

from __future__ import annotations

import math


def check_least(name: str, value: float, least: int, most: float = math.inf) -> None:
    """Refuse a number that is not finite, below `least` or above `most`.

    Raises:
        ValueError: naming the argument, the value and what it must be.
    """
    if not math.isfinite(value) or value < least:
        raise ValueError(f"{name} is {value}; it must be {least} or more")
    if value > most:
        raise ValueError(f"{name} is {value}; it must be {most:g} or less")
