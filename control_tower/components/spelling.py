"""Types and values of parameters, as a user of the command line reads and writes them."""

from __future__ import annotations

import types
from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import Annotated, Any, Literal, get_args, get_origin

from control_tower.components.arguments import Parameter
from control_tower.components.hints import is_text_only, members
from control_tower.components.specs import MonitorSpec, spec_as_json

_NAMES: dict[Any, str] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true or false",
    types.NoneType: "null",
    MonitorSpec: "monitor",
    Any: "any value",
    list: "list",
    dict: "mapping",
}
_BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


def type_words(hint: Any) -> str:
    """A parameter's type in words: `integer`, `list of text`, `audit | block`, `text or null`."""
    words = list(dict.fromkeys(_kind_words(kind) for kind in members(hint)))
    return " or ".join(words) + _bounds(hint)


def value_text(value: Any, hint: Any = Any) -> str:
    """A value as it is written after `key=`.

    Args:
        value: a default, or a checked argument.
        hint: the parameter's type.
    """
    if isinstance(value, MonitorSpec):
        value = spec_as_json(value)
    if isinstance(value, Enum):
        value = value.value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | PurePath) or (
        isinstance(value, str) and (is_text_only(hint) or MonitorSpec in members(hint))
    ):
        return str(value)
    return _flow(value)


def example_value(parameter: Parameter) -> str | None:
    """A value for an example: the default, or one of the type; None if none comes to mind."""
    if parameter.default is not None:
        return value_text(parameter.default, parameter.hint)
    for kind in members(parameter.hint):
        text = _example(kind)
        if text is not None:
            return text
    return None


def _kind_words(kind: Any) -> str:
    inner = get_args(kind)
    if get_origin(kind) is Literal:
        return " | ".join(value_text(choice, str) for choice in inner)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return " | ".join(value_text(choice, str) for choice in kind)
    if kind in _NAMES:
        return _NAMES[kind]
    origin = get_origin(kind)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return f"mapping of {type_words(inner[0])} to {type_words(inner[1])}"
    if isinstance(origin, type):
        of = [type_words(each) for each in inner if each is not Ellipsis]
        return f"list of {', '.join(of)}"
    if isinstance(kind, type) and issubclass(kind, PurePath):
        return "path"
    return str(getattr(kind, "__name__", kind))


def _bounds(hint: Any) -> str:
    """What an `Annotated` number's bounds are."""
    if get_origin(hint) is not Annotated:
        return ""
    facts: list[Any] = []
    for fact in get_args(hint)[1:]:
        facts += getattr(fact, "metadata", None) or [fact]
    return "".join(
        f" {sign} {getattr(fact, name)}"
        for fact in facts
        for name, sign in _BOUNDS.items()
        if getattr(fact, name, None) is not None
    )


def _example(kind: Any) -> str | None:
    inner = get_args(kind)
    if get_origin(kind) is Literal and inner:
        return value_text(inner[0], str)
    if get_origin(kind) is list:
        item = _example(members(inner[0])[0])
        return None if item is None else f"[{item}]"
    examples = {str: "text", int: "1", float: "1", bool: "true", MonitorSpec: "action-monitor"}
    return examples.get(kind)


def _flow(value: Any) -> str:
    """A list, a mapping, or a text that would be read as something else, as YAML on one line."""
    import yaml
    from pydantic_core import to_jsonable_python

    jsonable = to_jsonable_python(
        value, fallback=lambda each: spec_as_json(each) if isinstance(each, MonitorSpec) else each
    )
    dumped: str = yaml.safe_dump(
        jsonable, default_flow_style=True, allow_unicode=True, width=10**9, sort_keys=False
    )
    return dumped.removesuffix("\n").removesuffix("\n...")
