"""The pages of the shop and of the back office, by topic."""

from __future__ import annotations


def load() -> None:
    """Register the routes of all pages."""
    from . import account, catalogue, checkout, office  # noqa: F401
