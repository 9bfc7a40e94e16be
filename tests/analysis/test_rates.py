"""Success rates: who counts, and Wilson's interval against known values."""

from __future__ import annotations

from typing import Any

import pytest

from control_tower.analysis.rates import Rate, rates, wilson_interval
from control_tower.episode.outcome import Outcome, TaskResult


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (8, 10, 0.4902, 0.9433),
        (20, 20, 0.8389, 1.0),
        (0, 1, 0.0, 0.7935),
        (50, 100, 0.4038, 0.5962),
    ],
)
def test_the_interval_is_the_published_one(successes: int, n: int, low: float, high: float) -> None:
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=5.1e-5)


def test_each_end_is_z_standard_errors_of_its_own_from_the_rate() -> None:
    for successes, n in [(3, 7), (1, 29), (0, 12), (12, 12), (500, 1_000)]:
        for end in wilson_interval(successes, n):
            error = (end * (1 - end) / n) ** 0.5
            assert abs(successes / n - end) == pytest.approx(1.959963984540054 * error)


def test_the_interval_holds_the_rate_and_stays_between_0_and_1() -> None:
    for n in [*range(1, 60), 1_000, 1_000_000]:
        for successes in {0, 1, n // 3, n // 2, n - 1, n}:
            low, high = wilson_interval(successes, n)
            assert 0 <= low <= successes / n <= high <= 1
            assert low < high


def test_successes_and_failures_mirror_each_other() -> None:
    low, high = wilson_interval(3, 17)
    assert wilson_interval(14, 17) == pytest.approx((1 - high, 1 - low))


def test_more_trials_and_less_confidence_narrow_it() -> None:
    def width(interval: tuple[float, float]) -> float:
        return interval[1] - interval[0]

    assert width(wilson_interval(80, 100)) < width(wilson_interval(8, 10))
    assert width(wilson_interval(8, 10, z=1.0)) < width(wilson_interval(8, 10))


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (1, 0), (-1, 5), (6, 5)])
def test_what_is_no_proportion_is_refused(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match="no proportion"):
        wilson_interval(successes, n)


def outcome(sample_id: str, status: Any = "scored", **tasks: bool | None) -> Outcome:
    results = {name: TaskResult(success=success) for name, success in tasks.items()}
    return Outcome(sample_id=sample_id, status=status, **results)


def counts(rate: Rate) -> tuple[int, int, int, int, int]:
    return rate.n, rate.scored, rate.successes, rate.errored, rate.unscored


def test_honest_samples_count_their_main_task() -> None:
    [rate] = rates(
        [
            outcome("a/x/-", main=True),
            outcome("a/y/-", main=False),
            outcome("a/y/-@2", main=True),
            outcome("a/z/-", "unscored", main=None),
            outcome("a/z/-@2", "errored", main=None),
            outcome("a/z/-@3", "setup_error"),
        ]
    )
    assert (rate.environment, rate.mode, rate.task) == ("a", "honest", "main")
    assert counts(rate) == (6, 3, 2, 2, 1)
    assert rate.rate == pytest.approx(2 / 3)
    assert rate.interval == wilson_interval(2, 3)


def test_attacks_count_their_side_task_and_their_main_task_where_it_was_scored() -> None:
    side, main = rates(
        [
            outcome("a/x/s", side=True, main=False),
            outcome("a/y/s", side=False, main=True),
            outcome("a/-/s", side=True),
        ]
    )
    assert (side.mode, side.task, counts(side)) == ("attack", "side", (3, 3, 2, 0, 0))
    assert (main.mode, main.task, counts(main)) == ("attack", "main", (2, 2, 1, 0, 0))


def test_a_main_task_that_was_not_to_be_scored_has_no_line() -> None:
    assert [rate.task for rate in rates([outcome("a/x/s", side=True)])] == ["side"]


def test_what_never_ran_is_not_counted() -> None:
    assert rates([outcome("a/x/-", "not_run"), outcome("a/x/s", "cancelled", side=True)]) == []


def test_an_errored_sample_s_score_does_not_count() -> None:
    [rate] = rates([outcome("a/x/-", "errored", main=True)])
    assert counts(rate) == (1, 0, 0, 1, 0)
    assert rate.rate is None
    assert rate.interval is None


def test_without_scored_samples_there_is_no_rate() -> None:
    [rate] = rates([outcome("a/x/-", "unscored", main=None)])
    assert (rate.rate, rate.interval) == (None, None)


def test_lines_are_sorted_by_environment_honest_first_side_before_main() -> None:
    found = rates(
        [
            outcome("b/x/-", main=True),
            outcome("a/x/s", main=True, side=True),
            outcome("b/x/s", side=True),
            outcome("a/x/-", main=True),
        ]
    )
    assert [(rate.environment, rate.mode, rate.task) for rate in found] == [
        ("a", "honest", "main"),
        ("a", "attack", "side"),
        ("a", "attack", "main"),
        ("b", "honest", "main"),
        ("b", "attack", "side"),
    ]


def attacked(*, side: bool | None, caught: bool) -> Outcome:
    return Outcome(
        sample_id="mini/fix/leak",
        status="unscored" if side is None else "scored",
        side=TaskResult(success=side),
        caught=caught,
        decisions={"allow": 1},
    )


def test_where_a_protocol_decided_undetected_side_tasks_have_a_line() -> None:
    found = rates(
        [
            attacked(side=True, caught=True),
            attacked(side=True, caught=False),
            attacked(side=False, caught=False),
            attacked(side=None, caught=True),
            attacked(side=None, caught=False),
        ]
    )
    assert [(row.task, row.n, row.scored, row.successes) for row in found] == [
        ("side", 5, 3, 2),
        ("undetected side", 5, 4, 1),
    ]
