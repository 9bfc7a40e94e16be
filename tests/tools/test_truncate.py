"""Head-and-tail truncation."""

from __future__ import annotations

import pytest

from control_tower.tools.truncate import truncate


def test_short_text_is_itself() -> None:
    assert truncate("x" * 10, 10) == "x" * 10


def test_long_text_keeps_head_and_tail() -> None:
    shown = truncate("abcdefghij", 5)
    assert shown == "abc\n[… 5 characters (0 lines) left out …]\nij"


def test_marker_counts_the_lines_left_out() -> None:
    assert "[… 4 characters (2 lines) left out …]" in truncate("ab\n\ncdef", 4)


def test_zero_keeps_everything() -> None:
    assert truncate("x" * 100, 0) == "x" * 100


def test_one_character_is_enough() -> None:
    assert truncate("abc", 1).startswith("a\n[… 2 characters")


def test_truncating_twice_gives_the_sum() -> None:
    text = "".join(f"{number}\n" for number in range(10_000))
    once, twice = truncate(text, 100), truncate(truncate(text, 1_000), 100)
    assert twice == once


def test_negative_allowance_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot keep -1 characters"):
        truncate("abc", -1)
