"""Words that messages about recordings have in common."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from control_tower.errors import nearest
from control_tower.trajectories.one_line import one_line
from control_tower.trajectories.sources import Recording

LISTED = 10
"""Of several that are meant, so many are named."""
_LONGEST = 200
"""Characters of a text or an id that a message shows."""


def short(text: str) -> str:
    """A text of the user's or of a file, on one line and not too long."""
    return one_line(text, most=_LONGEST)


def near(text: str, names: Iterable[str]) -> list[str]:
    """The names nearest to what was written; a long text is like none, and slow to compare."""
    return [short(name) for name in nearest(text, names)] if len(text) <= _LONGEST else []


def listed(recordings: Sequence[Recording]) -> str:
    """The first of several recordings, as one tells them apart, and how many more there are."""
    shown = [_described(recording) for recording in recordings[:LISTED]]
    more = len(recordings) - LISTED
    return ", ".join(shown) + (f", … ({more} more)" if more > 0 else "")


def reason(error: OSError | ValueError) -> str:
    """What was wrong, without a path that the message has already."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _described(recording: Recording) -> str:
    summary = recording.summary
    at = summary.recorded_at
    when = "" if at is None else time.strftime(", %Y-%m-%d %H:%M", time.localtime(at))
    run = f", run {short(summary.run_id)}" if summary.run_id else ""
    id, sample = short(summary.trajectory_id), short(summary.sample_id)
    return f"{id} ({sample}{run}{when}, {summary.outcome})"
