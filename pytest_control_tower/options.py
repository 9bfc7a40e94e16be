"""pytest's spelling of the run options: `--ct-…` and the `ct_…` ini keys."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, Literal, get_args

import pytest

from control_tower.errors import UsageProblem
from control_tower.options import CONTRADICTIONS, FRONT_END_FLAG, OPTIONS, WAYS, FrontEnd, Option
from control_tower.whole_numbers import whole_number

_FRONT_END = "ct_front_end"
_NOT_OF_A_REPLAY = (
    "env",
    "env_arg",
    "untrusted_policy",
    "untrusted_policy_arg",
    "protocol",
    "protocol_arg",
    "message_limit",
    "assert",
)
"""Keys of options in an ini file that do not apply to a trajectory that is run again."""


def add_options(parser: pytest.Parser) -> None:
    """Declare every run option to pytest."""
    group = parser.getgroup("control tower", "Control Tower (control evaluations as tests)")
    for option in OPTIONS:
        group.addoption(option.pytest, dest=option.ini, help=option.help_text, **_details(option))
        parser.addini(
            option.ini,
            help=f"{option.help_text} (as {option.pytest})",
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


def command_line_values(config: pytest.Config) -> dict[str, Any]:
    """Values by option key that the command line gives.

    Raises:
        pytest.UsageError: for what is no whole number where one is wanted, naming the option.
    """
    values = {option.key: _given(config, option) for option in OPTIONS}
    return {key: value for key, value in values.items() if value is not None}


def ini_values(config: pytest.Config) -> dict[str, Any]:
    """Values by option key that the ini file gives; directories are relative to it.

    Raises:
        pytest.UsageError: for a value of the wrong type, naming the key.
    """
    values = {option.key: _ini_value(config, option) for option in OPTIONS}
    return {key: value for key, value in values.items() if value is not None}


def merged(asked: Mapping[str, Any], ini: Mapping[str, Any]) -> dict[str, Any]:
    """The command line's values before the ini file's.

    A way to select on the command line takes the place of the ini file's ways, and whatever it
    gives that of what contradicts it. A trajectory has the arguments of its own environment. The
    arguments of a sandbox are not another's, and how often Docker is tried again is not theirs.
    What is run again has its own tasks, and no policy or protocol.
    """
    left = dict(ini)
    if any(key in asked for key in WAYS):
        for key in WAYS:
            left.pop(key, None)
    if "rerun_traj" in asked:
        for key in _NOT_OF_A_REPLAY:
            left.pop(key, None)
    for first, second in (*CONTRADICTIONS, ("trajectory_id", "env_arg")):
        if first in asked:
            left.pop(second, None)
    for first, second in CONTRADICTIONS:
        if second in asked:
            left.pop(first, None)
    if "sandbox" in asked:
        left.pop("sandbox_arg", None)
        if asked["sandbox"] != "docker":
            left.pop("startup_retries", None)
    return {**left, **asked}


def _given(config: pytest.Config, option: Option) -> Any:
    """What the command line gives. Here a number is made of a text, since argparse, asked to do it,
    would answer a wrong one with its whole usage."""
    value = config.getoption(option.ini)
    if value is None or option.minimum is None:
        return value
    try:
        return whole_number(value, option.minimum, flag=option.spelling(front_end(config)))
    except UsageProblem as problem:
        raise pytest.UsageError(str(problem)) from None


def _details(option: Option) -> dict[str, Any]:
    if option.kind == "flag":
        return {"action": "store_true", "default": None}
    details: dict[str, Any] = {"action": "append" if option.multiple else "store", "default": None}
    if option.choices:
        details["metavar"] = "|".join(option.choices)
        return details
    details["metavar"] = option.metavar or {"integer": "N", "directory": "DIR"}.get(
        option.kind, "TEXT"
    )
    return details


def _ini_type(option: Option) -> Literal["bool", "int", "linelist", "string"]:
    if option.multiple:
        return "linelist"
    if option.kind == "integer":
        return "int"
    return "bool" if option.kind == "flag" else "string"


def _ini_value(config: pytest.Config, option: Option) -> Any:
    try:
        value = config.getini(option.ini)
    except (TypeError, ValueError, pytest.UsageError) as error:
        raise pytest.UsageError(f"{option.ini}: {error}") from None
    if value in (None, "", []) or value is False:
        return None
    if option.kind == "directory" and config.inipath is not None:
        place = config.inipath.parent
        return [str(place / each) for each in value] if option.multiple else str(place / value)
    return value
