"""JSON text of arguments, whatever an agent has put into them."""

from __future__ import annotations

import json
from datetime import date, time
from typing import Any

from control_tower.fit_arguments import MOST_BITS

_MOST = 250_000
"""Values that are written; what is held more than once could go on for ever."""
_LEFT_OUT = "(left out: too large)"


def plain_json(value: Any) -> str:
    """JSON text of `value`, on one line.

    Unlike `json.dumps` it neither recurses nor refuses a value: what JSON does not have is shown
    as text, and lists and mappings after the first 250,000 values are left out, with a note.
    """
    pieces: list[str] = []
    pending: list[tuple[bool, Any]] = [(False, value)]
    left = _MOST
    while pending:
        written, item = pending.pop()
        if written:
            pieces.append(item)
        elif not isinstance(item, dict | list | tuple | set | frozenset):
            pieces.append(_text(_plain(item)))
        elif len(item) > left:
            pieces.append(_text(_LEFT_OUT))
        elif isinstance(item, dict):
            pending.extend(reversed(_inside("{}", [*item.items()])))
            left -= len(item)
        else:
            pending.extend(reversed(_inside("[]", [(None, each) for each in item])))
            left -= len(item)
    return "".join(pieces)


def _inside(brackets: str, items: list[tuple[Any, Any]]) -> list[tuple[bool, Any]]:
    """What is still to be written of a list or mapping: (whether it is text already, what)."""
    parts: list[tuple[bool, Any]] = [(True, brackets[0])]
    for position, (key, item) in enumerate(items):
        name = "" if brackets == "[]" else f"{_text(str(_plain(key)))}: "
        parts += [(True, f"{', ' if position else ''}{name}"), (False, item)]
    return [*parts, (True, brackets[1])]


def _plain(value: Any) -> str | float | None:
    """A value that JSON has, in place of a single one."""
    if value is None or isinstance(value, str | bool | float):
        return value
    if isinstance(value, int):  # Python does not write long ones in decimal
        return value if value.bit_length() <= MOST_BITS else hex(value)
    if isinstance(value, bytes | bytearray):
        return repr(value)
    if isinstance(value, date | time):
        return value.isoformat()
    return f"({type(value).__name__})"


def _text(value: str | float | None) -> str:
    return json.dumps(value, ensure_ascii=False)
