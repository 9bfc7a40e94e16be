"""What the options of a run ask of its sandboxes."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest

from control_tower.run_options import RunOptions
from control_tower.sandboxes.settings import OF_DOCKER, SandboxSettings


def settings(**values: Any) -> SandboxSettings:
    return SandboxSettings.of(RunOptions.from_values(values, front_end="ct"))


def test_nothing_asked_is_seven_retries_and_nothing_else() -> None:
    assert settings() == SandboxSettings()
    assert settings().startup_retries == 7
    assert settings().given == frozenset()


@pytest.mark.parametrize(
    ("key", "field"),
    [
        ("no_internet", "no_internet"),
        ("no_intranet", "no_intranet"),
        ("network_control", "network_control"),
        ("sandbox_isolation", "isolation"),
    ],
)
def test_a_flag_is_a_field(key: str, field: str) -> None:
    asked = settings(**{key: True})
    assert getattr(asked, field) is True
    assert asked.given == {key}
    assert asked == SandboxSettings(**{field: True, "given": frozenset([key])})


@pytest.mark.parametrize("number", [0, 3, 7])
def test_retries_count_as_asked_for_whatever_their_number(number: int) -> None:
    asked = settings(startup_retries=number)
    assert asked.startup_retries == number
    assert asked.given == {"startup_retries"}


def test_arguments_keep_their_order() -> None:
    assert settings(sandbox_arg=["b=1", "a=2"]).args == ("b=1", "a=2")


def test_it_is_frozen_and_hashable() -> None:
    assert hash(settings(no_internet=True)) == hash(settings(no_internet=True))
    with pytest.raises(pydantic.ValidationError):
        settings().no_internet = True  # type: ignore[misc]


def test_every_option_of_docker_s_is_an_option() -> None:
    assert set(OF_DOCKER) <= set(RunOptions.from_values({}, front_end="ct").model_dump())
