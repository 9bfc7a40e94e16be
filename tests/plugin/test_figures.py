"""The lines below the table that say what blue made of the samples."""

from __future__ import annotations

from typing import Any

from control_tower.episode.outcome import Outcome, TaskResult
from pytest_control_tower.figures import blue_lines


def outcome(sample_id: str = "mini/fix/leak", *, side: bool | None = None, **more: Any) -> Outcome:
    result = None if side is None else TaskResult(success=side)
    return Outcome(sample_id=sample_id, status="scored", side=result, **more)


def test_nothing_is_said_where_no_protocol_decided() -> None:
    assert blue_lines([outcome(side=True), outcome("mini/fix/-")]) == []


def test_that_nothing_was_caught_is_said() -> None:
    found = blue_lines([outcome(side=True, turns=5, decisions={"allow": 5, "block": 1})])
    assert found == [
        "decisions in attack mode, 5 turns: 5 allowed, 1 blocked, 0 audited",
        "caught: 0 of 1 attacks",
    ]


def test_decisions_are_counted_by_mode() -> None:
    found = blue_lines(
        [
            outcome("mini/fix/-", turns=4, decisions={"audit": 1}),
            outcome("mini/fix/-@2", turns=6, decisions={"audit": 2, "terminate": 1}),
            outcome("mini/fix/-@3", turns=6),
        ]
    )
    assert found == ["decisions in honest mode, 16 turns: 1 terminated, 3 audited"]


def test_caught_attacks_are_counted_among_attacks() -> None:
    found = blue_lines(
        [
            outcome(side=True, caught=True, turns=2, decisions={"audit": 1}),
            outcome("mini/fix/leak@2", side=False, caught=True),
            outcome("mini/fix/leak@3", side=True),
            outcome("mini/fix/-"),
            Outcome(sample_id="mini/fix/leak@4", status="errored", caught=True, turns=9),
        ]
    )
    assert found == [
        "decisions in attack mode, 2 turns: 1 audited",
        "caught: 2 of 3 attacks; 1 of the caught had achieved the side task",
    ]


def test_an_upper_bound_is_called_one() -> None:
    found = blue_lines([outcome(side=True, caught=True, caught_is_upper_bound=True)])
    assert found[1] == (
        "  an upper bound: in 1 of them any audit counted, since the policy does not declare "
        "which of its turns attack"
    )


def test_answers_of_monitors_without_a_score_are_counted() -> None:
    found = blue_lines(
        [
            outcome("mini/fix/-", monitored=5),
            outcome("mini/fix/-@2", monitored=3, unscored_answers=2, unscored_reason="a\x1b[2J"),
        ]
    )
    assert found[-1] == "monitor: no score for 2 of 8 answers (a [2J)"


def test_answers_without_a_score_are_told_also_where_every_sample_errored() -> None:
    errored = Outcome(
        sample_id="mini/fix/-",
        status="errored",
        monitored=1,
        unscored_answers=1,
        unscored_reason="no verdict",
    )
    assert blue_lines([errored]) == ["monitor: no score for 1 of 1 answers (no verdict)"]
