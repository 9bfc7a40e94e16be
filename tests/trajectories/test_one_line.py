"""Texts that somebody else wrote, in one line of a message."""

from __future__ import annotations

import pytest

from control_tower.trajectories.one_line import one_line, visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("as it is é", "as it is é"),
        ("two\n\n  lines\t", "two lines"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("turned \u202e round", "turned \\u202e round"),
        ("half \ud800", "half \\ud800"),
        ("x" * 20, "x" * 10 + " …"),
        ("x" * 10_000_000, "x" * 10 + " …"),
        ("", ""),
    ],
)
def test_one_line(text: str, expected: str) -> None:
    assert one_line(text, most=10 if "x" * 11 in text else 300) == expected


def test_visible_keeps_the_length_of_what_can_be_seen() -> None:
    assert visible("a b" * 1000) == "a b" * 1000
    assert visible("a\nb") == "a\\nb"
