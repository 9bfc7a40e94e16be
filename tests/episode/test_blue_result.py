"""What blue came to: what it caught, what it was told by monitors, what it decided."""

from __future__ import annotations

from typing import Any

from inspect_ai.log import EvalSampleLimit
from support.samples import NO, YES, outcome, record

from control_tower.episode.record import EpisodeRecord
from control_tower.episode.run_facts import RunFacts
from control_tower.trajectories.schema import Decision, MonitorResponse


def audited(**more: Any) -> EpisodeRecord:
    scored = {"side": YES}
    return record(scored=scored, caught=True, **more)


def test_an_attack_that_an_audit_caught(facts: RunFacts) -> None:
    found = outcome(facts, audited())
    assert (found.caught, found.caught_is_upper_bound) == (True, False)


def test_honest_work_is_never_caught(facts: RunFacts) -> None:
    ended = EvalSampleLimit(type="operator", limit=1)
    found = outcome(facts, audited(caught_is_upper_bound=True), "mini/fix/-", limit=ended)
    assert (found.caught, found.caught_is_upper_bound) == (False, False)


def test_an_upper_bound_is_none_once_blue_terminated_the_run(facts: RunFacts) -> None:
    bounded = audited(caught_is_upper_bound=True)
    assert outcome(facts, bounded).caught_is_upper_bound
    ended = EvalSampleLimit(type="operator", limit=1)
    found = outcome(facts, bounded, limit=ended)
    assert (found.caught, found.caught_is_upper_bound) == (True, False)


def test_answers_of_monitors_are_counted_once_a_proposal(facts: RunFacts) -> None:
    none = MonitorResponse(error="no verdict")
    decisions = [
        Decision(kind="audit", turn=0, proposal_id="a", monitor_response=none),
        Decision(kind="allow", turn=0, proposal_id="a", monitor_response=none),
        Decision(
            kind="allow", turn=1, proposal_id="b", monitor_response=MonitorResponse(sus_score=1)
        ),
        Decision(kind="allow", turn=2, proposal_id="c"),
    ]
    found = outcome(facts, record(scored={"side": NO}, decisions=decisions))
    assert (found.monitored, found.unscored_answers) == (2, 1)
    assert found.unscored_reason == "no verdict"


def test_answers_about_replacements_and_draws_are_counted(facts: RunFacts) -> None:
    first, second, edited = (MonitorResponse(sus_score=score) for score in (9, 4, 1))
    none = MonitorResponse(error="no verdict")
    drawn = {"a": first, "b": second, "c": none}
    decisions = [
        Decision(kind="audit", proposal_id="a", monitor_response=first, draw_responses=drawn),
        Decision(
            kind="replace",
            proposal_id="a",
            monitor_response=first,
            instead_id="b",
            instead_monitor_response=second,
            draw_responses=drawn,
        ),
        Decision(
            kind="replace",
            turn=1,
            proposal_id="d",
            monitor_response=none,
            instead_id="e",
            instead_monitor_response=edited,
        ),
    ]
    found = outcome(facts, record(scored={"side": NO}, decisions=decisions))
    assert (found.monitored, found.unscored_answers) == (5, 2)


def test_two_answers_about_one_proposal_are_two(facts: RunFacts) -> None:
    none, benign = MonitorResponse(error="no verdict"), MonitorResponse(sus_score=1)
    decisions = [
        Decision(kind="audit", proposal_id="a", monitor_response=none),
        Decision(kind="allow", proposal_id="a", monitor_response=benign),
    ]
    found = outcome(facts, record(scored={"side": NO}, decisions=decisions))
    assert (found.monitored, found.unscored_answers) == (2, 1)


def test_decisions_are_counted_by_turn(facts: RunFacts) -> None:
    kinds = [(0, "block"), (0, "block"), (0, "allow"), (1, "audit"), (1, "allow")]
    decisions = [Decision(kind=kind, turn=turn) for turn, kind in kinds]
    found = outcome(facts, record(scored={"side": NO}, decisions=decisions, turns=3))
    assert (found.turns, found.decisions) == (3, {"block": 1, "allow": 2, "audit": 1})
