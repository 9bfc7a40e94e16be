"""Which of Inspect's tries of a sample were attempts."""

from __future__ import annotations

from typing import Any

import pytest
from support.samples import error, record, retried, sample

from control_tower.episode.attempts import earlier_errors, last_error
from control_tower.sandboxes.errors import KnownStartFailure, SandboxStartError

FAILED, KNOWN = repr(SandboxStartError("no image")), repr(KnownStartFailure("no image"))
OTHER = repr(ValueError("boom"))
SAID, SAID_OTHER = "SandboxStartError: no image", "ValueError: boom"


def ended(*messages: str, kept: Any = None) -> Any:
    """A sample whose tries ended so, one after the other."""
    *before, last = messages
    return sample(kept, error=error(last), error_retries=[retried(each) for each in before])


@pytest.mark.parametrize(
    ("tries", "earlier"),
    [
        ([FAILED, KNOWN, KNOWN, KNOWN], []),
        ([KNOWN, KNOWN, KNOWN, KNOWN], []),
        ([OTHER, FAILED, KNOWN, KNOWN], [SAID_OTHER]),
        ([OTHER, KNOWN, KNOWN], [SAID_OTHER]),
        ([FAILED, FAILED, FAILED], [SAID, SAID]),
        ([FAILED, OTHER, FAILED, KNOWN], [SAID, SAID_OTHER]),
        ([FAILED], []),
        ([KNOWN], []),
    ],
)
def test_what_met_a_failure_that_was_known_is_no_attempt_of_its_own(
    tries: list[str], earlier: list[str]
) -> None:
    found = ended(*tries)
    assert earlier_errors(found) == earlier
    assert last_error(found) == SAID


def test_a_sample_that_came_to_its_end_has_only_earlier_errors() -> None:
    done = sample(record(), error_retries=[retried(FAILED), retried(OTHER)])
    assert earlier_errors(done) == [SAID, SAID_OTHER]
    assert last_error(done) is None
    assert earlier_errors(sample(record())) == []
