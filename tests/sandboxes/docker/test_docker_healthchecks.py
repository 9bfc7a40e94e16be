"""Health checks that calm down once their service is there."""

from __future__ import annotations

from typing import Any

import pytest

from control_tower.sandboxes.docker.healthchecks import calm_down

TEST = {"test": ["CMD", "true"]}


def calmed(**check: Any) -> dict[str, Any]:
    service: dict[str, Any] = {"healthcheck": {**TEST, **check}}
    calm_down(service)
    found: dict[str, Any] = service["healthcheck"]
    return found


@pytest.mark.parametrize(
    ("check", "start_interval", "start_period"),
    [
        ({"interval": "1s", "retries": 30}, "1s", "30s"),
        ({"interval": "500ms", "retries": 20}, "0.5s", "10s"),
        ({"interval": "2s"}, "2s", "6s"),
        ({"interval": "1s", "retries": 5, "start_period": "1m30s"}, "1s", "95s"),
    ],
)
def test_a_check_that_is_asked_often_is_asked_so_while_it_starts(
    check: dict[str, Any], start_interval: str, start_period: str
) -> None:
    assert calmed(**check) == {
        **TEST,
        "start_interval": start_interval,
        "start_period": start_period,
        "interval": "15s",
        "retries": 3,
    }


@pytest.mark.parametrize(
    "check",
    [
        {"interval": "30s"},
        {},
        {"interval": "1s", "start_interval": "2s"},
        {"disable": True, "interval": "1s"},
    ],
)
def test_others_stay_as_they_are(check: dict[str, Any]) -> None:
    assert calmed(**check) == {**TEST, **check}


def test_a_service_without_one_stays_without() -> None:
    service: dict[str, Any] = {"image": "x"}
    calm_down(service)
    assert service == {"image": "x"}
