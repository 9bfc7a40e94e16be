"""How unknown names are reported: the nearest ones, in one line."""

from __future__ import annotations

import pytest

from control_tower.errors import UsageProblem, nearest, unknown_name


@pytest.mark.parametrize("value", ["null_blue_team", "NULL-BLUE-TEAM", "nul-blue-taem"])
def test_case_underscores_and_slips_of_the_finger_find_the_name(value: str) -> None:
    assert nearest(value, ["null-blue-team", "reference"]) == ["null-blue-team"]


def test_nearest_come_first_and_are_spelled_as_they_are_valid() -> None:
    valid = ["hold_rounding", "hold_sounding", "hold_rounding2", "hold_rounding3", "other"]
    found = nearest("hold-rounding", valid)
    assert found[0] == "hold_rounding"
    assert len(found) == 3
    assert "other" not in found


def test_nothing_near_is_nothing() -> None:
    assert nearest("zzzz", ["honest", "noop"]) == []
    assert nearest("honest", []) == []


def test_one_near_name_is_offered() -> None:
    problem = unknown_name("environment", "legder", ["ledger", "mail"], flag="--env")
    assert isinstance(problem, UsageProblem)
    assert str(problem) == "--env: no environment is named 'legder'; did you mean 'ledger'?"


def test_several_near_names_are_offered() -> None:
    problem = unknown_name("task", "fix_a", ["fix_b", "fix_c", "zzz"], flag="-t")
    assert str(problem).endswith("did you mean 'fix_c' or 'fix_b'?")


def test_without_a_near_name_the_valid_ones_are_listed_in_order() -> None:
    problem = unknown_name("sandbox", "zzz", ["docker", "bwrap", "bwrap"], flag="--sandbox")
    assert str(problem) == "--sandbox: no sandbox is named 'zzz'; valid: bwrap, docker"


def test_a_long_list_is_cut_at_twelve() -> None:
    problem = unknown_name("task", "?", [f"name{n:02}" for n in range(13)], flag="-t")
    assert "name11, …" in str(problem)
    assert "name12" not in str(problem)
    twelve = unknown_name("task", "?", [f"name{n:02}" for n in range(12)], flag="-t")
    assert str(twelve).endswith("name11")


def test_with_nothing_valid_it_says_that_there_is_none() -> None:
    problem = unknown_name("role", "blue", [], flag="--model-role")
    assert str(problem) == "--model-role: no role is named 'blue'; none is available"
