"""Health checks that are asked often while a service starts, and seldom once it is there."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from control_tower.sandboxes.docker.amounts import seconds

NEEDS_API = (1, 44)
"""The engine's API from which on a check has a start interval (Engine 25)."""

_OFTEN = 5.0
"""Seconds; a longer interval costs nothing that would matter."""
_INTERVAL = 15.0
_RETRIES = 3


class Grace(BaseModel, frozen=True):
    """How often a check that was calmed down may fail before its service is healthy."""

    period: float
    """Seconds from the service's start in which no failure counts."""

    failures: int
    """So many in a row after it, and the service is unhealthy."""


def calmed(check: Mapping[str, Any]) -> tuple[dict[str, Any], Grace] | None:
    """A check that is asked every few seconds, asked so only until its service is healthy.

    Each is a process that the engine starts in the container; with many samples at once they would
    take the processor from the samples. The engine counts no failures while it asks often, so who
    waits for the service counts those that its author allows: see `Failures`.

    Args:
        check: as compose writes it.

    Returns:
        The check that the engine is given, and what its author allows; None if it is to stay as it
        is.

    Raises:
        ValueError: a duration in it is none.
    """
    if not check or check.get("disable") or "start_interval" in check:
        return None
    interval = seconds(check.get("interval"), 30.0)
    if interval > _OFTEN:
        return None
    grace = Grace(
        period=seconds(check.get("start_period")), failures=int(check.get("retries") or 3)
    )
    longest = interval + seconds(check.get("timeout"), 30.0)
    often = {
        "start_interval": f"{interval:g}s",
        "start_period": f"{grace.period + longest * grace.failures:g}s",
        "interval": f"{_INTERVAL:g}s",
        "retries": _RETRIES,
    }
    return {**check, **often}, grace


class Failures:
    """Counts a service's failed checks, from looks that each show the last few."""

    def __init__(self, grace: Grace | None) -> None:
        self._grace = grace
        self._life = ""
        self._counted: set[str] = set()

    def are_too_many(self, state: Mapping[str, Any]) -> bool:
        """Whether there are more by now than the author of the check allows.

        Args:
            state: what the engine says of the container's.
        """
        health = state.get("Health") or {}
        if self._grace is None or health.get("Status") != "starting":
            return False
        began = str(state["StartedAt"])
        if began != self._life:  # the engine started it again
            self._life, self._counted = began, set()
        for result in health.get("Log") or ():
            failed = result["ExitCode"] != 0
            if failed and _seconds_between(began, result["Start"]) >= self._grace.period:
                self._counted.add(result["Start"])
        return len(self._counted) >= self._grace.failures


def _seconds_between(one: str, other: str) -> float:
    return (datetime.fromisoformat(other) - datetime.fromisoformat(one)).total_seconds()
