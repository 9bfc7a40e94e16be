"""Docstrings in Google's style, taken apart, and types and values in words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from control_tower.components import MonitorSpec
from control_tower.components.documentation import documentation
from control_tower.components.spelling import type_words, value_text


def example() -> None:
    """Do something
    in two lines.

    More of it: with a colon.
    And more.

    Args:
        first: what it is: a thing
            that goes on.

            And on.
        second (int): short.
        third:
            below.

    Raises:
        ValueError: never.
    """


def test_a_docstring_is_taken_apart() -> None:
    found = documentation(example)
    assert found.summary == "Do something in two lines."
    assert found.paragraphs[1:] == ("More of it: with a colon. And more.",)
    assert found.arguments == {
        "first": "what it is: a thing that goes on. And on.",
        "second": "short.",
        "third": "below.",
    }


def test_no_docstring_says_nothing() -> None:
    assert documentation(lambda: None).summary == ""


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (str, "text"),
        (int | None, "integer or null"),
        (float, "number"),
        (bool, "true or false"),
        (list[str], "list of text"),
        (dict[str, int], "mapping of text to integer"),
        (Literal["audit", "block"], "audit | block"),
        (MonitorSpec | None, "monitor or null"),
        (list[MonitorSpec], "list of monitor"),
        (Annotated[int, Field(ge=1, le=10)], "integer ≥ 1 ≤ 10"),
        (Path, "path"),
        (Any, "any value"),
    ],
)
def test_types_are_said_in_words(hint: Any, words: str) -> None:
    assert type_words(hint) == words


@pytest.mark.parametrize(
    ("value", "hint", "text"),
    [
        (None, str | None, "null"),
        (True, bool, "true"),
        (0.5, float, "0.5"),
        ("yes", str, "yes"),
        ([1, 2], list[int], "[1, 2]"),
        ({"a": None}, dict[str, Any], "{a: null}"),
        ("yes", int | str, "'yes'"),
        (MonitorSpec("m"), MonitorSpec, "m"),
        (MonitorSpec("m", draws=3), MonitorSpec | None, "{name: m, draws: 3}"),
        ([MonitorSpec("m", a=1)], list[MonitorSpec], "[{name: m, a: 1}]"),
    ],
)
def test_values_are_written_as_they_are_read(value: Any, hint: Any, text: str) -> None:
    assert value_text(value, hint) == text
