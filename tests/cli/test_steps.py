"""Steps that a user chooses."""

from __future__ import annotations

import pytest

from control_tower.cli.steps import steps_in
from control_tower.errors import UsageProblem


@pytest.mark.parametrize(
    ("texts", "chosen"),
    [
        ([], None),
        (["3"], {3}),
        (["2-4"], {2, 3, 4}),
        (["0,2-3", "5"], {0, 2, 3, 5}),
        (["1, 2"], {1, 2}),
    ],
)
def test_they_are_numbers_and_ranges(texts: list[str], chosen: set[int] | None) -> None:
    assert steps_in(texts, 6, flag="--step") == chosen


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "3-", "1-x", "4-2", "6", "0-6", "1e3", "²", "1,,2"]
)
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageProblem, match=r"^--step: '"):
        steps_in([text], 6, flag="--step")


def test_a_range_that_goes_backwards_is_turned_round() -> None:
    with pytest.raises(UsageProblem, match=r"^--step: '4-2' goes backwards; write 2-4$"):
        steps_in(["4-2"], 6, flag="--step")
