"""Days as the company counts them."""

from __future__ import annotations

import calendar
import time

from batchlib import config

config.use_local_time()


def business_day(placed_at: str) -> str:
    """The local day of a time in UTC, such as 2024-03-09T22:15:00Z."""
    seconds = calendar.timegm(time.strptime(placed_at, "%Y-%m-%dT%H:%M:%SZ"))
    return time.strftime("%Y-%m-%d", time.gmtime(seconds - time.timezone))
