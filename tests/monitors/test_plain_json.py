"""JSON of arguments, at any depth."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from control_tower.monitors._plain_json import plain_json


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1.5,
        'a "quoted" \n word',
        [],
        {},
        [1, [2, []], {"a": {}}],
        {"a": [1, {"b": None}], "c\n": "ü"},
    ],
)
def test_it_is_the_json_of_the_value(value: Any) -> None:
    assert plain_json(value) == json.dumps(value, ensure_ascii=False)


def test_no_depth_is_too_deep() -> None:
    nested: Any = "core"
    for _ in range(100_000):
        nested = {"a": [nested]}
    text = plain_json(nested)
    assert text.startswith('{"a": [{"a": [')
    assert '"core"' in text
    assert text.count("{") == text.count("}") == 100_000


class Unspeakable:
    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


def doubling(levels: int, kind: Any = list) -> Any:
    """As many lists or tuples, each of which holds the next one twice."""
    value: Any = kind(["x", "x"])
    for _ in range(levels):
        value = kind([value, value])
    return value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (16**6_000, f'"0x1{"0" * 6_000}"'),
        (b"\xff", "\"b'\\\\xff'\""),
        (date(2020, 1, 1), '"2020-01-01"'),
        ({"a"}, '["a"]'),
        (float("inf"), "Infinity"),
        (Unspeakable(), '"(Unspeakable)"'),
        ({1: {None: 2}}, '{"1": {"None": 2}}'),
        ({16**6_000: 1}, f'{{"0x1{"0" * 6_000}": 1}}'),
        ({Unspeakable: 1, doubling(3, tuple): 2}, '{"(type)": 1, "(tuple)": 2}'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_does_not_have_is_shown_as_text(value: Any, text: str) -> None:
    assert plain_json(value) == text


def test_what_is_held_again_and_again_is_left_out_in_the_end() -> None:
    itself: list[Any] = []
    itself.append(itself)
    for value in (doubling(60), itself):
        text = plain_json(value)
        assert "(left out: too large)" in text
        assert text.count("[") == text.count("]") < 2_000_000
