"""Run options as click's."""

from __future__ import annotations

from typing import Any

import click
from typing_extensions import override

from control_tower.options import BY_KEY, Option
from control_tower.whole_numbers import whole_number


class WholeNumber(click.IntRange):
    """A whole number of `minimum` or more; what is wrong with another is said as pytest says it."""

    def __init__(self, minimum: int) -> None:
        super().__init__(min=minimum)
        self._minimum = minimum

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number.

        Raises:
            UsageProblem: it is none, or too small; names the option.
        """
        flag = max(param.opts, key=len) if param is not None else self.name
        return whole_number(value, self._minimum, flag=flag)


def click_option(option: Option) -> click.Option:
    """A run option with its spellings on `ct`; unset, its value is None or empty."""
    long, *others = option.ct
    declared = [*(name for name in others if len(name) <= 3), long]
    declared += [name for name in others if len(name) > 3]
    if option.kind == "flag":
        return click.Option(
            [*declared, option.key], is_flag=True, default=None, help=option.help_text
        )
    kind: click.ParamType[Any] = click.STRING
    if option.kind == "integer":
        kind = WholeNumber(option.minimum or 0)
    elif option.choices:
        kind = click.Choice(option.choices)
    return click.Option(
        [*declared, option.key],
        type=kind,
        multiple=option.multiple,
        default=None,
        metavar=option.metavar,
        help=option.help_text,
    )


def ct_flag(key: str) -> str:
    """How `ct` spells the run option `key`."""
    return BY_KEY[key].spelling("ct")
