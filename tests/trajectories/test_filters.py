"""Which trajectories are wanted."""

from __future__ import annotations

from typing import Any

import pytest

from control_tower.errors import UsageProblem
from control_tower.trajectories.filters import Filters, check_filters
from control_tower.trajectories.summary import Summary

THERE = Summary(
    "t",
    run_id="run-17",
    run_name="night",
    environment="ledger",
    main_task="fix",
    side_task="leak",
    outcome="scored",
    policy="honest",
    protocol="block-all",
    tags=("nightly", "big"),
)
FLAGS = {
    "environments": "--env",
    "tasks": "--task",
    "policies": "--policy",
    "protocols": "--protocol",
    "tags": "--tag",
    "outcomes": "--outcome",
    "runs": "--run",
}


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        ({}, True),
        ({"environments": ("ledger",)}, True),
        ({"environments": ("other",)}, False),
        ({"environments": ("other", "ledger")}, True),
        ({"tasks": ("fix",)}, True),
        ({"tasks": ("leak",)}, True),
        ({"tasks": ("fi",)}, False),
        ({"policies": ("honest",), "protocols": ("block-all",)}, True),
        ({"policies": ("honest",), "protocols": ("other",)}, False),
        ({"tags": ("big",)}, True),
        ({"tags": ("small",)}, False),
        ({"outcomes": ("errored", "scored")}, True),
        ({"outcomes": ("errored",)}, False),
        ({"runs": ("run-1",)}, True),
        ({"runs": ("17",)}, False),
        ({"runs": ("night",)}, True),
        ({"runs": ("nigh",)}, False),
    ],
)
def test_any_of_a_fields_values_and_all_of_the_fields(wanted: dict[str, Any], taken: bool) -> None:
    assert Filters(**wanted).takes(THERE) is taken


def test_a_task_that_is_none_is_not_named_so() -> None:
    assert not Filters(tasks=("None",)).takes(Summary("t"))


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        ({"environments": ("ledgre",)}, "--env: no recorded environment is named 'ledgre'; did "
                                        "you mean 'ledger'?"),
        ({"tasks": ("zzz",)}, "--task: no recorded task is named 'zzz'; valid: fix, leak"),
        ({"tags": ("nigthly",)}, "--tag: no recorded tag is named 'nigthly'; did you mean "
                                 "'nightly'?"),
        ({"outcomes": ("error",)}, "--outcome: no outcome is named 'error'; did you mean"),
        ({"runs": ("zzz",)}, "--run: no recorded run is named 'zzz'; valid: night, run-17"),
        ({"policies": ("honset",)}, "--policy: no recorded policy is named 'honset'"),
        ({"protocols": ("blockall",)}, "--protocol: no recorded protocol is named 'blockall'"),
    ],
)  # fmt: skip
def test_what_nothing_has_is_a_typing_error(wanted: dict[str, Any], line: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        check_filters(Filters(**wanted), [THERE], flags=FLAGS)
    assert str(caught.value).startswith(line)


def test_an_outcome_that_could_have_been_is_none() -> None:
    check_filters(Filters(outcomes=("cancelled",)), [THERE], flags=FLAGS)


def test_where_nothing_is_recorded_nothing_is_refused() -> None:
    check_filters(Filters(environments=("any",)), [], flags=FLAGS)
