"""Health checks that calm down once their service is there, and how often they may fail before."""

from __future__ import annotations

from typing import Any

import pytest

from control_tower.sandboxes.docker.healthchecks import Failures, Grace, calmed

TEST = {"test": ["CMD", "true"]}


@pytest.mark.parametrize(
    ("check", "start_interval", "start_period", "grace"),
    [
        ({"interval": "1s", "retries": 4, "timeout": "1s"}, "1s", "8s", (0, 4)),
        ({"interval": "500ms", "retries": 20, "timeout": "10s"}, "0.5s", "210s", (0, 20)),
        ({"interval": "2s"}, "2s", "96s", (0, 3)),
        (
            {"interval": "1s", "retries": 5, "timeout": "1s", "start_period": "1m30s"},
            *("1s", "100s", (90, 5)),
        ),
    ],
)
def test_a_check_that_is_asked_often_is_asked_so_while_it_starts(
    check: dict[str, Any], start_interval: str, start_period: str, grace: tuple[float, int]
) -> None:
    given = {**TEST, **check}
    found = calmed(given)
    assert given == {**TEST, **check}
    assert found is not None
    assert found[0] == {
        **given,
        "start_interval": start_interval,
        "start_period": start_period,
        "interval": "15s",
        "retries": 3,
    }
    assert found[1] == Grace(period=grace[0], failures=grace[1])


@pytest.mark.parametrize(
    "check",
    [
        {**TEST, "interval": "30s"},
        TEST,
        {**TEST, "interval": "1s", "start_interval": "2s"},
        {**TEST, "disable": True, "interval": "1s"},
        {},
    ],
)
def test_others_stay_as_they_are(check: dict[str, Any]) -> None:
    assert calmed(check) is None


def at(second: float) -> str:
    return f"2026-03-01T10:00:{second:012.9f}Z"


def starting(*failed: float, began: float = 0, status: str = "starting") -> dict[str, Any]:
    """A container's state: when its checks failed, in seconds of a minute."""
    results = [{"Start": at(second), "ExitCode": 1, "Output": ""} for second in failed]
    return {"StartedAt": at(began), "Health": {"Status": status, "Log": results}}


def looks(grace: Grace | None, *states: dict[str, Any]) -> list[bool]:
    failures = Failures(grace)
    return [failures.are_too_many(state) for state in states]


def test_each_failure_counts_once_and_the_last_that_is_allowed_is_the_end() -> None:
    grace = Grace(period=0, failures=3)
    seen = (starting(), starting(1), starting(1, 2), starting(1, 2), starting(2, 3))
    assert looks(grace, *seen) == [False, False, False, False, True]


def test_more_failures_than_the_engine_remembers_are_counted() -> None:
    grace = Grace(period=0, failures=7)
    seen = (starting(1, 2, 3, 4, 5), starting(2, 3, 4, 5, 6), starting(3, 4, 5, 6, 7))
    assert looks(grace, *seen) == [False, False, True]


def test_those_of_the_author_s_start_period_do_not_count() -> None:
    grace = Grace(period=10, failures=2)
    seen = (starting(5, 7, 9, 14.9, began=5), starting(9, 14.9, 15, 16, began=5))
    assert looks(grace, *seen) == [False, True]


def test_those_before_the_engine_started_it_again_do_not_count() -> None:
    grace = Grace(period=0, failures=3)
    seen = (starting(1, 2), starting(1, 2, began=4), starting(5, began=4), starting(5, 6, 7))
    assert looks(grace, *seen) == [False, False, False, True]


@pytest.mark.parametrize(
    "state",
    [
        starting(1, 2, 3, status="healthy"),
        {"StartedAt": at(0)},
        {"StartedAt": at(0), "Health": None},
    ],
)
def test_one_that_is_healthy_or_has_no_check_has_not_failed(state: dict[str, Any]) -> None:
    assert looks(Grace(period=0, failures=1), state) == [False]


def test_where_the_engine_counts_nothing_is_counted() -> None:
    assert looks(None, starting(1, 2, 3)) == [False]


def test_a_check_that_succeeded_is_no_failure() -> None:
    state = starting(1)
    state["Health"]["Log"][0]["ExitCode"] = 0
    assert looks(Grace(period=0, failures=1), state) == [False]
