"""Tool calls as texts for a reader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from control_tower.trajectories.schema import Action

_COMMAND = "command"


def call_lines(action: Action) -> list[str]:
    """The call: its function, and its arguments one below the other, texts as they are.

    A `bash` command is as one types it; its other arguments are below it.
    """
    arguments = dict(action.arguments)
    if action.function != "bash" or not isinstance(arguments.get(_COMMAND), str):
        return [action.function, *_argument_lines(arguments)]
    first, *more = str(arguments.pop(_COMMAND)).rstrip("\n").split("\n")
    return [f"$ {first}", *(f"  {line}" for line in more), *_argument_lines(arguments)]


def call_line(function: str, arguments: Mapping[str, Any], *, most: int = 100) -> str:
    """The call in one line of at most about `most` characters."""
    if function == "bash" and set(arguments) == {_COMMAND} and isinstance(arguments[_COMMAND], str):
        text = f"$ {arguments[_COMMAND]}"
    else:
        text = f"{function} {_json(dict(arguments))}"
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most] + " …"


def exact_call(function: str, arguments: Mapping[str, Any]) -> str:
    """The call in one line from which every difference can be told."""
    return f"{function} {_json(dict(arguments))}"


def _argument_lines(arguments: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else _json(value)
        first, *more = text.rstrip("\n").split("\n")
        lines += [f"  {name}: {first}", *(f"    {line}" for line in more)]
    return lines


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
