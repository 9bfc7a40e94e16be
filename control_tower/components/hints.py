"""What the type of a parameter says of how its value is written."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from pathlib import PurePath
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from control_tower.components.specs import MonitorSpec
from control_tower.yaml_values import Scalar

_LISTS = (list, Sequence, set, frozenset, AbstractSet)
_MAPPINGS = (dict, Mapping)


def members(hint: Any) -> list[Any]:
    """The types that a union allows, None among them as `NoneType`; a type that is none: itself."""
    hint = getattr(hint, "__value__", hint)  # a `type` statement's alias
    if get_origin(hint) is Annotated:
        return members(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        return [each for part in get_args(hint) for each in members(part)]
    return [types.NoneType if hint is None else hint]


def allows_null(hint: Any) -> bool:
    """Whether None is allowed."""
    return any(each in (types.NoneType, Any) for each in members(hint))


def is_text_only(hint: Any) -> bool:
    """Whether every value is a text (or None): what is written is then taken literally."""
    kinds = [each for each in members(hint) if each is not types.NoneType]
    return bool(kinds) and all(map(_is_text, kinds))


def names_monitor(hint: Any) -> bool:
    """Whether a monitor is named by it."""
    return MonitorSpec in members(hint)


def typed(value: Any, hint: Any) -> Any:
    """What was written, with each scalar as the type of its place asks for.

    A monitor's mapping stays as it was written: its arguments have types of their own.
    """
    if isinstance(value, Scalar):
        return _scalar(value, hint)
    if isinstance(value, list):
        inner = _item_hints(hint, len(value))
        return [typed(each, its) for each, its in zip(value, inner, strict=True)]
    if isinstance(value, dict):
        if names_monitor(hint):
            return value
        return {key: typed(each, _value_hint(hint)) for key, each in value.items()}
    return value


def _scalar(scalar: Scalar, hint: Any) -> Any:
    kinds, value = members(hint), scalar.value
    if value is None and allows_null(hint):
        return None
    if is_text_only(hint) or names_monitor(hint):
        return scalar.text
    if isinstance(value, bool):  # pydantic would take it for a number
        fits = any(kind in (bool, Any) or _is_other(kind) for kind in kinds)
        return value if fits else scalar.text
    return value


def _is_text(kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return all(isinstance(choice, str) for choice in get_args(kind))
    return isinstance(kind, type) and issubclass(kind, str | PurePath)


def _is_other(kind: Any) -> bool:
    """Whether it is neither a text nor a number, so that pydantic can tell a truth value."""
    number = isinstance(kind, type) and issubclass(kind, int | float) and not _is_enum(kind)
    return not number and not _is_text(kind) and kind is not types.NoneType


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Enum)


def _item_hints(hint: Any, count: int) -> list[Any]:
    for kind in members(hint):
        inner = get_args(kind)
        if get_origin(kind) in _LISTS and inner:
            return [inner[0]] * count
        if get_origin(kind) is tuple and inner:
            repeated = len(inner) == 2 and inner[1] is Ellipsis
            hints = [inner[0]] * count if repeated else [*inner, *[Any] * count]
            return hints[:count]
    return [Any] * count


def _value_hint(hint: Any) -> Any:
    for kind in members(hint):
        if get_origin(kind) in _MAPPINGS and len(get_args(kind)) == 2:
            return get_args(kind)[1]
    return Any
