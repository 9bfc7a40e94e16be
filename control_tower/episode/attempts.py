"""What ended a sample's attempts, from the errors that Inspect keeps of them.

Inspect tries every error again. Where it is known that a sandbox does not come up, such a retry
starts nothing, so it is no attempt of its own.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from control_tower.episode.readable_errors import readable
from control_tower.sandboxes.errors import KnownStartFailure, SandboxStartError

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

_FAILED = f"{SandboxStartError.__name__}("
_KNOWN = f"{KnownStartFailure.__name__}("


def last_error(sample: EvalSample) -> str | None:
    """What ended the last attempt, in words; None if it came to its end."""
    return None if sample.error is None else _words(sample.error.message)


def earlier_errors(sample: EvalSample) -> list[str]:
    """What ended each attempt before the last, in words, the first one first.

    Start-ups that failed, and the retries that met what is known of it, are one attempt.
    """
    ends = [retry.message for retry in sample.error_retries or []]
    ends.append(sample.error.message if sample.error is not None else "")
    return [
        _words(end)
        for end, next_end in pairwise(ends)
        if not (next_end.startswith(_KNOWN) and end.startswith((_FAILED, _KNOWN)))
    ]


def _words(message: str) -> str:
    """Readable, with one name for both kinds of failed starts."""
    if message.startswith(_KNOWN):
        message = _FAILED + message.removeprefix(_KNOWN)
    return readable(message)
