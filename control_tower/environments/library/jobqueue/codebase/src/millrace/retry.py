"""How long a job that failed waits for its next attempt."""

from __future__ import annotations

from .config import Settings


def delay_ms(settings: Settings, made: int) -> int:
    """The pause after `made` attempts: twice as long each time, up to a limit."""
    seconds = settings.retry_base_seconds * 2 ** (made - 1)
    return round(min(seconds, settings.retry_most_seconds) * 1000)
