"""Reducers: by name, and of one's own; and what a missing score does."""

from __future__ import annotations

import pytest

from control_tower.monitors._reducing import combined, find_reducer
from control_tower.trajectories.schema import MonitorMember


def second_highest(scores: list[float]) -> float:
    return sorted(scores)[-2]


def too_high(scores: list[float]) -> float:
    return 100.0


def not_a_number(scores: list[float]) -> float:
    return float("nan")


NO_FUNCTION = 3


@pytest.mark.parametrize(
    ("name", "score"),
    [("mean", 4), ("median", 2), ("min", 1), ("max", 9), (f"{__name__}:second_highest", 2)],
)
def test_scores_are_reduced(name: str, score: float) -> None:
    assert find_reducer(name)([9, 1, 2]) == score


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(ValueError, match="no reducer is named 'meen'; did you mean 'mean'"):
        find_reducer("meen")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("no_such_module:f", "cannot be imported: ModuleNotFoundError"),
        (f"{__name__}:nothing", "cannot be imported: AttributeError"),
        (f"{__name__}:NO_FUNCTION", "is no function"),
        (":", "cannot be imported"),
    ],
)
def test_a_reference_to_nothing_is_refused(name: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        find_reducer(name)


@pytest.mark.parametrize("name", ["too_high", "not_a_number"])
def test_a_reducer_that_leaves_the_scale_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match="the scale is 0 to 10"):
        find_reducer(f"{__name__}:{name}")([1.0])


def test_a_missing_score_leaves_all_unscored_unless_it_is_skipped() -> None:
    members = [MonitorMember(sus_score=4), MonitorMember(error="no reply"), MonitorMember()]
    strict = combined(members, reducer=max, unscored="unscored")
    assert strict.sus_score is None
    assert strict.error == "2 of 3 have no score; no reply"
    skipping = combined(members, reducer=max, unscored="skip")
    assert skipping.sus_score == 4
    assert skipping.error is None
    assert skipping.members == members


def test_without_any_score_skipping_is_unscored_too() -> None:
    members = [MonitorMember(error="no reply", name="first"), MonitorMember(error="x")]
    response = combined(members, reducer=max, unscored="skip")
    assert response.sus_score is None
    assert response.error == "2 of 2 have no score; 'first': no reply"
