"""Health checks that are asked often while a service starts, and seldom once it is there."""

from __future__ import annotations

import re
from typing import Any

NEEDS_API = (1, 44)
"""The engine's API from which on a check has a start interval (Engine 25)."""

_OFTEN = 5.0
"""Seconds; a longer interval costs nothing that would matter."""
_INTERVAL = 15.0
_RETRIES = 3
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_PART = re.compile(r"([0-9.]+)(h|ms|us|ns|m|s)")


def calm_down(service: dict[str, Any]) -> None:
    """Let a check that is asked every few seconds be asked so only until its service is healthy.

    Each is a process that the engine starts in the container; with many samples at once they would
    take the processor from the samples. What the author wrote holds for as long as the service
    starts: the same interval, and as much time as its retries made.
    """
    check = service.get("healthcheck")
    if not check or check.get("disable") or "start_interval" in check:
        return
    interval = _seconds(check.get("interval"), 30.0)
    if interval > _OFTEN:
        return
    starting = _seconds(check.get("start_period"), 0.0) + interval * int(check.get("retries") or 3)
    check.update(
        start_interval=f"{interval:g}s",
        start_period=f"{starting:g}s",
        interval=f"{_INTERVAL:g}s",
        retries=_RETRIES,
    )


def _seconds(duration: object, otherwise: float) -> float:
    """A duration as compose writes it, such as `1m30s`."""
    parts = _PART.findall(str(duration or ""))
    return sum(float(number) * _UNITS[unit] for number, unit in parts) if parts else otherwise
