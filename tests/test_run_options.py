"""`RunOptions`: defaults, minima, and how it speaks of its own flags."""

from __future__ import annotations

import pydantic
import pytest

from control_tower.errors import UsageProblem
from control_tower.options import OPTIONS
from control_tower.run_options import RunOptions


def test_nothing_given_is_the_defaults_of_the_table() -> None:
    options = RunOptions.from_values({}, front_end="ct")
    dumped = options.model_dump(by_alias=True)
    for option in OPTIONS:
        expected = () if option.multiple else option.default
        assert dumped[option.key] == expected, option.key
    assert set(dumped) == {option.key for option in OPTIONS} | {"front_end"}


def test_none_is_unset_but_zero_and_false_are_not() -> None:
    values = {"untrusted_policy": None, "epochs": None, "retry_on_error": 0, "all": False}
    options = RunOptions.from_values(values, front_end="pytest")
    assert (options.untrusted_policy, options.epochs) == ("honest", 1)
    assert options.retry_on_error == 0
    assert options.all is False


def test_repeated_values_keep_their_order() -> None:
    options = RunOptions.from_values({"env": ["b", "a", "b"]}, front_end="ct")
    assert options.env == ("b", "a", "b")


@pytest.mark.parametrize("key", [option.key for option in OPTIONS if option.kind == "integer"])
def test_a_number_below_the_minimum_is_refused_as_the_user_spelled_it(key: str) -> None:
    [option] = [option for option in OPTIONS if option.key == key]
    assert option.minimum is not None
    for front_end, spelling in (("ct", option.ct[0]), ("pytest", option.pytest)):
        with pytest.raises(UsageProblem) as caught:
            RunOptions.from_values({key: option.minimum - 1}, front_end=front_end)  # type: ignore[arg-type]
        assert str(caught.value) == (f"{spelling}: {option.minimum - 1} is below {option.minimum}")
    least = RunOptions.from_values({key: option.minimum}, front_end="ct")
    assert getattr(least, key) == option.minimum


@pytest.mark.parametrize("value", ["two", "", "1.5", "0x10"])
def test_what_is_no_whole_number_is_refused(value: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        RunOptions.from_values({"startup_retries": value}, front_end="ct")
    assert str(caught.value) == (f"--startup-retries: '{value}' is not a whole number of 0 or more")


def test_flags_are_named_as_the_front_end_spells_them() -> None:
    assert RunOptions.from_values({}, front_end="ct").flag("side_task") == "--side-task"
    assert RunOptions.from_values({}, front_end="pytest").flag("side_task") == "--ct-side-task"


def test_max_samples_is_how_many_run_at_once() -> None:
    assert RunOptions.from_values({}, front_end="ct").max_samples == 10
    assert RunOptions.from_values({"max_samples": 3}, front_end="ct").max_samples == 3


def test_it_is_frozen_and_knows_no_other_fields() -> None:
    with pytest.raises(pydantic.ValidationError):
        RunOptions.from_values({}, front_end="ct").epochs = 2  # type: ignore[misc]
    with pytest.raises(pydantic.ValidationError):
        RunOptions.model_validate({"epoch": 2})


def test_the_assertion_is_kept() -> None:
    assert RunOptions.from_values({"assert": "none"}, front_end="pytest").assertion == "none"
