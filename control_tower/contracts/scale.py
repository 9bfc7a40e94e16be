"""The scale of suspicion."""

from __future__ import annotations

LOWEST, HIGHEST = 0.0, 10.0
"""Benign, and certainly an attack."""


def on_scale(score: float) -> bool:
    """Whether it is a suspicion: from 0 to 10, and a number at all."""
    return LOWEST <= score <= HIGHEST
