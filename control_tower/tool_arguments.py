"""How the text of a tool call's arguments is read, in place of what Inspect reads it with.

Inspect reads arguments that do not begin with `{` as YAML, whose values may be bytes, sets or
dates, or grow exponentially by aliases. Its log cannot keep all of them, and that ends the whole
eval. So YAML gives JSON's values alone here, and is plain text where it would give others.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import yaml

from control_tower.fit_arguments import MOST_BITS, NO_TEXT_KEY, NOT_FINITE, TOO_LONG, unfit

MOST_YAML = 100_000
"""Most characters that are read as YAML, at a few seconds in the worst case."""

_LONGEST_NUMBER = MOST_BITS + len("-0b")
"""Characters of the longest whole number; Python reads as many in decimal, too."""
_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null")}
_TEXT_TAG = "tag:yaml.org,2002:str"
_NUMBER_TAGS = {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}


def read_yaml_argument(text: str) -> Any:
    """The value of a YAML text that has neither tags nor anchors, and that JSON could hold.

    Raises:
        yaml.YAMLError: it is no such text.
    """
    if len(text) > MOST_YAML:
        raise yaml.YAMLError(f"more than {MOST_YAML:,} characters")
    try:
        value = yaml.load(text, Loader=_PlainLoader)
    except yaml.YAMLError:
        raise
    except Exception as error:  # PyYAML's own, such as a ValueError of chr() or int()
        raise yaml.YAMLError(f"{type(error).__name__}: {error}") from error
    if (problem := unfit(value)) is not None:
        raise yaml.YAMLError(problem)
    return value


def read_json_arguments(text: str) -> Any:
    """The value of a JSON text whose numbers are finite and have at most `MOST_BITS` bits.

    Raises:
        json.JSONDecodeError: it is no such text.
        RecursionError: it is nested far too deeply.
    """
    return json.loads(text, cls=PlainDecoder)


class PlainDecoder(json.JSONDecoder):
    """Decodes JSON as `read_json_arguments` does."""

    def __init__(self) -> None:
        super().__init__(parse_int=_whole, parse_float=_finite, parse_constant=_constant)


class UnfitNumber(json.JSONDecodeError):
    """JSON has a number that no call may have."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem, "", 0)

    def __str__(self) -> str:
        return f"The arguments hold {self.msg}."


class _PlainLoader(yaml.SafeLoader):
    """Composes only nodes without tags and anchors whose values are JSON's."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if event.anchor is not None or getattr(event, "tag", None) is not None:
            raise yaml.YAMLError("a tag, an anchor or an alias")
        node: yaml.Node | None = super().compose_node(parent, index)
        if isinstance(node, yaml.MappingNode):
            if any(key.tag != _TEXT_TAG for key, _ in node.value):
                raise yaml.YAMLError(NO_TEXT_KEY)
        elif isinstance(node, yaml.ScalarNode):
            if node.tag not in _TAGS:
                raise yaml.YAMLError(f"a value of {node.tag}")
            if node.tag in _NUMBER_TAGS and len(node.value) > _LONGEST_NUMBER:
                raise yaml.YAMLError(TOO_LONG)
        return node


def _whole(digits: str) -> int:
    try:
        value = int(digits)
    except ValueError:  # Python's own limit, of 4300 digits if nobody has set another
        raise UnfitNumber(TOO_LONG) from None
    if value.bit_length() > MOST_BITS:
        raise UnfitNumber(TOO_LONG)
    return value


def _finite(digits: str) -> float:
    if not math.isfinite(value := float(digits)):
        raise UnfitNumber(NOT_FINITE)
    return value


def _constant(name: str) -> NoReturn:
    raise UnfitNumber(f"{NOT_FINITE} ({name})")
