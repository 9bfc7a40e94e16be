"""Amounts as compose files write them: durations and sizes."""

from __future__ import annotations

import math
import re

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_NUMBER = r"([0-9]+\.?[0-9]*|\.[0-9]+)"
_PART = re.compile(_NUMBER + r"(h|ms|us|µs|ns|m|s)")
_SIZE = re.compile(_NUMBER + r"\s*([kmgtp]?)i?b?")
_POWERS = " kmgtp"


def seconds(duration: object, otherwise: float = 0.0) -> float:
    """A duration in seconds, such as 90 for `1m30s`.

    Args:
        duration: as compose writes it.
        otherwise: for one that is not given.

    Raises:
        ValueError: it is no duration.
    """
    if duration in (None, ""):
        return otherwise
    text = str(duration).strip()
    if not _PART.sub("", text):
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    if text in ("0", "-1"):
        return float(text)
    raise ValueError(f"{text!r} is no duration, such as 1m30s")


def nanoseconds(duration: object) -> int:
    """A duration in nanoseconds, as the Engine API takes it; 0 for one that is not given.

    Raises:
        ValueError: it is no duration.
    """
    return round(seconds(duration) * 1e9)


def size(amount: object) -> int:
    """A size in bytes: a number, or one with a unit, such as 67108864 for `64m`.

    Raises:
        ValueError: it is no size.
    """
    text = str(amount).strip().lower()
    if text == "-1":  # without a limit
        return -1
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"{amount!r} is no size, such as 64m")
    unit: int = 1024 ** _POWERS.index(found[2] or " ")
    return round(float(found[1]) * unit)


def nano_cpus(amount: object) -> int:
    """A number of processors in billionths, as the Engine API takes it.

    Raises:
        ValueError: it is no such number.
    """
    number = float(str(amount))
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{amount!r} is no number of processors, such as 0.5")
    return round(number * 1e9)
