"""From values of options to the arguments of pytest that say the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from control_tower.options.table import OPTIONS

FRONT_END_FLAG = "--ct-front-end"
"""How `ct` tells the plugin that it was `ct` the user typed; not for users, and not in help."""


def to_pytest_argv(values: Mapping[str, Any]) -> list[str]:
    """The `--ct-…` arguments that say what `values` (by option key) says.

    Unset values (None, False, empty) are left out, so that ini files may still set them.
    """
    argv: list[str] = []
    for option in OPTIONS:
        value = values.get(option.key)
        if value is None or value is False or value == ():
            continue
        if option.kind == "flag":
            argv.append(option.pytest)
            continue
        items: Sequence[Any] = value if option.multiple else (value,)
        argv += [f"{option.pytest}={item}" for item in items]
    return argv
