"""pytest's spelling of the run options: `--ct-…` and the `ct_…` ini keys."""

from __future__ import annotations

import argparse
from typing import Any, Literal, get_args

import pytest

from control_tower.options import FRONT_END_FLAG, OPTIONS, FrontEnd, Option

_FRONT_END = "ct_front_end"


def add_options(parser: pytest.Parser) -> None:
    """Declare every run option to pytest."""
    group = parser.getgroup("control tower", "Control Tower (control evaluations as tests)")
    for option in OPTIONS:
        group.addoption(option.pytest, dest=option.ini, help=option.help, **_details(option))
        parser.addini(
            option.ini,
            help=f"{option.help} (as {option.pytest})",
            type=_ini_type(option),
            default=None,
        )
    group.addoption(
        FRONT_END_FLAG,
        dest=_FRONT_END,
        choices=get_args(FrontEnd),
        default="pytest",
        help=argparse.SUPPRESS,
    )


def front_end(config: pytest.Config) -> FrontEnd:
    """Whether the user typed `ct` or `pytest`, so that messages spell options as they did."""
    given: FrontEnd = config.getoption(_FRONT_END)
    return given


def given_values(config: pytest.Config) -> dict[str, Any]:
    """Values by option key: the command line before the ini file; what nobody set is absent.

    Raises:
        pytest.UsageError: for an ini value that is not a whole number where one is needed.
    """
    values: dict[str, Any] = {}
    for option in OPTIONS:
        value = config.getoption(option.ini)
        if value is None:
            value = _ini_value(config, option)
        if value is not None:
            values[option.key] = value
    return values


def _details(option: Option) -> dict[str, Any]:
    if option.kind == "flag":
        return {"action": "store_true", "default": None}
    details: dict[str, Any] = {"action": "append" if option.multiple else "store", "default": None}
    if option.kind == "integer":
        details["type"] = int
    details["metavar"] = option.metavar or {"integer": "N", "directory": "DIR"}.get(
        option.kind, "TEXT"
    )
    return details


def _ini_type(option: Option) -> Literal["bool", "linelist", "string"]:
    if option.multiple:
        return "linelist"
    return "bool" if option.kind == "flag" else "string"


def _ini_value(config: pytest.Config, option: Option) -> Any:
    value = config.getini(option.ini)
    if value in (None, "", []) or value is False:
        return None
    if option.kind == "integer":
        try:
            return int(value)
        except ValueError:
            raise pytest.UsageError(f"{option.ini}: '{value}' is not a whole number") from None
    return value
