"""Which arguments of a tool call can be kept: JSON's values, of a bounded size.

Others cannot all be written to Inspect's log, which ends the whole eval, or take for ever.
"""

from __future__ import annotations

import math
from typing import Any

DEEPEST = 100
"""Most lists and mappings within each other in a call's arguments, themselves included."""
MOST_BITS = 4096
"""Most bits of a whole number: Python refuses to write much longer ones in decimal."""
MOST_VALUES = 100_000
"""Most values in a call's arguments; one that is held twice counts twice."""

TOO_LONG = f"a number of more than {MOST_BITS} bits"
NOT_FINITE = "a number that is not finite"
NO_TEXT_KEY = "a key that is not text"


def unfit(arguments: Any) -> str | None:
    """What is wrong with the arguments of a call, or with a value among them, in a few words.

    None: they are JSON's values, and can be copied, compared and written in little time.
    """
    left: list[tuple[Any, int]] = [(arguments, 1)]
    count = 1
    while left:
        item, depth = left.pop()
        if not isinstance(item, dict | list | tuple):
            if (problem := _unfit_scalar(item)) is not None:
                return problem
            continue
        if depth > DEEPEST:
            return f"lists or mappings more than {DEEPEST} levels deep"
        count += len(item)
        if count > MOST_VALUES:
            return f"more than {MOST_VALUES:,} values"
        if isinstance(item, dict) and not all(isinstance(key, str) for key in item):
            return NO_TEXT_KEY
        inner = item.values() if isinstance(item, dict) else item
        left += [(part, depth + 1) for part in inner]
    return None


def _unfit_scalar(value: Any) -> str | None:
    if value is None or isinstance(value, str | bool):
        return None
    if isinstance(value, int):
        return TOO_LONG if value.bit_length() > MOST_BITS else None
    if isinstance(value, float):
        return None if math.isfinite(value) else NOT_FINITE
    return f"a value that JSON does not have ({type(value).__name__})"
