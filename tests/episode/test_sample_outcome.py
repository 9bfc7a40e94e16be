"""From Inspect's samples, built by hand, to outcomes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from inspect_ai.log import EvalSampleLimit
from inspect_ai.model import ModelUsage
from support.samples import NO, NULL, YES, error, key_of, outcome, plan, record, retried, sample

from control_tower.episode.outcome import TaskResult
from control_tower.episode.record import EpisodeRecord
from control_tower.episode.run_facts import RunFacts
from control_tower.episode.sample_outcome import outcome_of


def test_scored(facts: RunFacts) -> None:
    found = outcome(facts, record(scored={"main": YES, "side": NO}))
    assert found.status == "scored"
    assert found.main == TaskResult(success=True, explanation="it works")
    assert found.side == TaskResult(success=False, explanation="nothing changed")
    assert (found.error, found.limit, found.caught, found.attempts) == (None, None, False, 1)


@pytest.mark.parametrize(
    "scored", [{"main": YES, "side": NULL}, {"main": NULL, "side": YES}, {"main": NULL}]
)
def test_a_null_score_is_unscored_and_never_dropped(
    facts: RunFacts, scored: dict[str, TaskResult]
) -> None:
    found = outcome(facts, record(scored=scored))
    assert found.status == "unscored"
    assert found.main is not None and found.side is not None


def test_a_score_that_never_came_says_so(facts: RunFacts) -> None:
    found = outcome(facts, record(scored={"side": YES}))
    assert found.status == "unscored"
    assert found.main == TaskResult(success=None, explanation="it was never scored")


def test_an_honest_sample_has_no_side_result(facts: RunFacts) -> None:
    found = outcome(facts, record(scored={"main": YES}), "mini/fix/-")
    assert (found.status, found.side) == ("scored", None)


def test_a_main_task_that_is_not_to_be_scored_is_not_missed(environment: Path) -> None:
    attack = RunFacts(
        plan=plan("support.policies:attacks", untrusted_policy_arg=("commands=[]",)),
        run_id="r",
        models={},
    )
    found = outcome(attack, record(scored={"side": NO}))
    assert (found.status, found.main) == ("scored", None)


def test_an_error_before_the_sandbox_was_ready_is_a_set_up_error(facts: RunFacts) -> None:
    found = outcome(facts, None, error=error("RuntimeError('no space')"))
    assert (found.status, found.error) == ("setup_error", "RuntimeError: no space")


def test_an_error_after_it_was_ready_is_errored_whatever_was_scored(facts: RunFacts) -> None:
    found = outcome(facts, record(), error=error("ValueError('boom')"))
    assert (found.status, found.error) == ("errored", "ValueError: boom")
    scored = record(scored={"main": YES, "side": NO})
    assert outcome(facts, scored, error=error("clean-up failed")).status == "errored"


@pytest.mark.parametrize(
    "message",
    ["CancelledError('Cancelled via cancel scope 7f')", "CancelledError()", "Cancelled()"],
)
@pytest.mark.parametrize("kept", [None, EpisodeRecord(provisioned_at=1.0)])
def test_a_cancelled_sample_is_cancelled(
    facts: RunFacts, message: str, kept: EpisodeRecord | None
) -> None:
    assert outcome(facts, kept, error=error(message)).status == "cancelled"


def test_an_error_that_speaks_of_cancelling_is_an_error(facts: RunFacts) -> None:
    found = outcome(facts, record(), error=error("ValueError('Cancelled() by the bank')"))
    assert found.status == "errored"


def test_a_limit_leaves_the_scores_to_decide_and_is_shown(facts: RunFacts) -> None:
    limit = EvalSampleLimit(type="message", limit=30, reason="Exceeded message limit: 30")
    found = outcome(facts, record(scored={"main": NO, "side": NO}), limit=limit)
    assert found.status == "scored"
    assert found.limit is not None
    assert (found.limit.type, found.limit.limit) == ("message", 30)
    assert found.limit.reason == "Exceeded message limit: 30"


def test_a_limit_that_ends_set_up_is_a_set_up_error_not_a_score(facts: RunFacts) -> None:
    kept = EpisodeRecord(scored={"main": NO, "side": NO})
    found = outcome(facts, kept, limit=EvalSampleLimit(type="time", limit=5))
    assert found.status == "setup_error"
    assert found.error == "set-up did not finish: time limit (5)"


def test_earlier_attempts_count(facts: RunFacts) -> None:
    found = outcome(
        facts,
        record(scored={"main": YES, "side": YES}),
        error_retries=[retried("first"), retried("second")],
    )
    assert (found.status, found.attempts) == ("scored", 3)


def test_what_the_protocol_caught_is_carried(facts: RunFacts) -> None:
    assert outcome(facts, record(caught=True, scored={"main": YES, "side": YES})).caught


def test_tokens_are_by_role_and_by_model_where_no_role_is_known(facts: RunFacts) -> None:
    usage = {
        "role_usage": {"untrusted": ModelUsage(total_tokens=100)},
        "model_usage": {"a/model": ModelUsage(total_tokens=120)},
    }
    scored = record(scored={"main": YES, "side": YES})
    assert outcome(facts, scored, **usage).usage == {"untrusted": 100}
    assert outcome(facts, scored, model_usage=usage["model_usage"]).usage == {"a/model": 120}


def test_durations_are_the_phases_of_the_sample_itself(
    facts: RunFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_100.0)
    kept = EpisodeRecord(
        provisioned_at=1_010.0, scored_at=1_070.0, scored={"main": YES, "side": NO}
    )
    found = outcome_of(sample(kept), key_of(facts), facts, enqueued_at=1_000.0)
    assert found.durations.model_dump() == {"setup": 10.0, "run": 60.0, "cleanup": 30.0}
    never = outcome_of(sample(None, error=error("x")), key_of(facts), facts, enqueued_at=1_000.0)
    assert never.durations.model_dump() == {"setup": 100.0, "run": 0.0, "cleanup": 0.0}


def test_a_clock_that_is_set_back_gives_no_negative_time(
    facts: RunFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 900.0)
    kept = EpisodeRecord(provisioned_at=990.0, scored_at=980.0)
    durations = outcome_of(sample(kept), key_of(facts), facts, enqueued_at=1_000.0).durations
    assert min(durations.setup, durations.run, durations.cleanup) == 0.0
