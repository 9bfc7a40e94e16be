"""Tool calls as texts for a reader."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from control_tower.trajectories.schema import Action

_COMMAND = "command"


def call_lines(action: Action) -> list[str]:
    """The call: its function, and its arguments one below the other, texts as they are."""
    arguments = dict(action.arguments)
    if action.function == "bash" and set(arguments) == {_COMMAND}:
        return [f"$ {line}" if n == 0 else f"  {line}" for n, line in _numbered(arguments)]
    lines = [action.function]
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        first, *more = text.split("\n")
        lines.append(f"  {name}: {first}")
        lines += [f"    {line}" for line in more]
    return lines


def call_line(function: str, arguments: Mapping[str, Any], *, most: int = 100) -> str:
    """The call in one line of at most about `most` characters."""
    if function == "bash" and isinstance(arguments.get(_COMMAND), str):
        text = f"$ {arguments[_COMMAND]}"
    else:
        text = f"{function} {json.dumps(dict(arguments), ensure_ascii=False, default=str)}"
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most] + " …"


def _numbered(arguments: Mapping[str, Any]) -> list[tuple[int, str]]:
    return list(enumerate(str(arguments[_COMMAND]).rstrip("\n").split("\n")))
