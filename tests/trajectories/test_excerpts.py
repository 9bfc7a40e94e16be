"""Long texts, shortened."""

from __future__ import annotations

import pytest

from control_tower.trajectories.excerpts import (
    around_difference,
    first_differing_lines,
    middle_left_out,
    shortened,
)


def test_short_texts_stay() -> None:
    assert shortened("a\n\nb\n", lines=3, columns=5) == ["a", "", "b"]
    assert middle_left_out("12345", 5) == "12345"


def test_of_many_lines_the_first_and_the_last_are_shown() -> None:
    text = "\n".join(map(str, range(10)))
    assert shortened(text, lines=5, columns=20) == ["0", "1", "2", "… 5 lines …", "8", "9"]


def test_of_a_long_line_both_ends_are_shown() -> None:
    assert middle_left_out("abc" + "x" * 100 + "yz", 5) == "abc … 100 characters … yz"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a\nb", "a\nc", (2, "b", "c")),
        ("a", "a\nb", (2, None, "b")),
        ("a\n", "a", (2, "", None)),
        ("same", "same", (0, None, None)),
        ("", "x", (1, "", "x")),
    ],
)
def test_the_first_line_that_differs(
    first: str, second: str, expected: tuple[int, str | None, str | None]
) -> None:
    assert first_differing_lines(first, second) == expected


def test_of_long_lines_what_is_around_the_difference_is_shown() -> None:
    same = "s" * 10_000
    number, first, second = first_differing_lines(same + "X" + same, same + "Y", most=100)
    assert number == 1
    assert first is not None and second is not None
    assert first.startswith("… s") and "X" in first and first.endswith(" …")
    assert second.endswith("sY")
    assert max(len(first), len(second)) <= 104


def test_what_is_not_there_stays_so() -> None:
    assert around_difference(None, "x" * 50, most=10) == (None, "x" * 10 + " …")
