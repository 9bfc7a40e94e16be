"""The outcome: what it says of limits and tokens, and that it survives a report's way."""

from __future__ import annotations

import pydantic
import pytest

from control_tower.episode.outcome import Durations, LimitHit, Outcome, TaskResult


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (LimitHit(type="message", limit=30), "message limit (30)"),
        (LimitHit(type="token", limit=2_500_000), "token limit (2500000)"),
        (LimitHit(type="token", limit=123_456_789), "token limit (123456789)"),
        (LimitHit(type="time", limit=0.5), "time limit (0.5)"),
        (LimitHit(type="operator"), "termination"),
        (LimitHit(type="operator", limit=1, reason="three strikes"), "termination: three strikes"),
        (LimitHit(type="custom", limit=1, reason="the context is full"), "the context is full"),
    ],
)
def test_a_limit_is_told_in_words(limit: LimitHit, text: str) -> None:
    assert str(limit) == text


def test_tokens_are_summed_over_roles() -> None:
    outcome = Outcome(sample_id="e/m/-", status="scored", usage={"untrusted": 70, "trusted": 5})
    assert outcome.tokens == 75
    assert Outcome(sample_id="e/m/-", status="scored").tokens == 0


def test_results_are_found_by_task() -> None:
    main, side = TaskResult(success=True), TaskResult(success=None)
    outcome = Outcome(sample_id="e/m/s", status="unscored", main=main, side=side)
    assert outcome.result("main") == main
    assert outcome.result("side") == side
    assert Outcome(sample_id="e/m/-", status="scored").result("side") is None


def test_it_survives_json_whole() -> None:
    outcome = Outcome(
        sample_id="e/m/s@2",
        status="unscored",
        main=TaskResult(success=None, explanation="crashed"),
        side=TaskResult(success=False, no_verdict=True),
        caught=True,
        error="none",
        limit=LimitHit(type="time", limit=3, reason="too slow"),
        attempts=3,
        durations=Durations(setup=1, run=2, cleanup=0.5),
        usage={"untrusted": 7},
        log="logs/x.eval",
        trajectory="logs/t.json",
    )
    dumped = outcome.model_dump(mode="json")
    assert dumped["schema_version"] == 1
    assert dumped["main"] == {
        "success": None,
        "explanation": "crashed",
        "no_verdict": False,
        "no_scorer": False,
        "disagreed": False,
        "recorded": False,
    }
    assert Outcome.model_validate(dumped) == outcome


def test_a_status_of_no_meaning_is_refused() -> None:
    with pytest.raises(pydantic.ValidationError):
        Outcome(sample_id="e/m/-", status="success")  # type: ignore[arg-type]
