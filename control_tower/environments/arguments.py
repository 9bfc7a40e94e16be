"""Arguments of environments: what `environment.yaml` declares, and what `--env-arg` sets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from control_tower.environments.model import ArgumentDeclaration, ArgumentValue, Environment
from control_tower.errors import UsageProblem, spoken, unknown_name


def bind_arguments(
    pairs: Sequence[str],
    environments: Sequence[Environment],
    recorded: Mapping[str, Mapping[str, Any]],
    *,
    flag: str,
) -> list[Environment]:
    """The environments with their arguments: declared defaults, what was recorded, what is given.

    Args:
        pairs: `key=value`, or `environment:key=value`.
        environments: the selected ones.
        recorded: by environment id and key, of trajectories; what is given goes before it.
        flag: what the user wrote the pairs after.

    Raises:
        UsageProblem: for a malformed pair, one that is not UTF-8, an unknown, ambiguous or
            repeated key, or a bad value.
    """
    values: dict[str, dict[str, ArgumentValue]] = {e.id: {} for e in environments}
    given: set[tuple[str, str]] = set()
    for pair in pairs:
        _refuse_what_no_script_can_get(pair, flag)
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise UsageProblem(f"{flag}: '{pair}' is not key=value or env:key=value")
        owner, key = _owner(name, environments, flag=flag)
        if (owner.id, key) in given:
            raise UsageProblem(f"{flag}: '{name}' is given twice")
        given.add((owner.id, key))
        values[owner.id][key] = _parsed(owner.info.args[key], text, f"{flag}: {name}")
    for environment in environments:
        for key, value in recorded.get(environment.id, {}).items():
            if (environment.id, key) not in given:
                values[environment.id][key] = _recorded(environment, key, value, flag)
    return [environment.with_arguments(values[environment.id]) for environment in environments]


def _refuse_what_no_script_can_get(pair: str, flag: str) -> None:
    shown = pair.encode(errors="backslashreplace").decode().replace("\0", "\\0")
    if shown != pair:
        raise UsageProblem(f"{flag}: '{shown}' is not valid UTF-8, or holds a NUL; leave that out")


def _recorded(environment: Environment, key: str, value: Any, flag: str) -> ArgumentValue:
    """What a trajectory recorded, if it is still allowed."""
    declared = environment.info.args.get(key)
    if declared is None:
        kind = f"argument of {environment.id}"
        raise unknown_name(kind, key, environment.info.args, flag="the trajectory's arguments")
    try:
        return _accepted(declared, value, key, str(value))
    except UsageProblem as problem:
        raise UsageProblem(
            f"the trajectory's arguments: {problem}; set it with {flag} {key}=…"
        ) from None


def _owner(name: str, environments: Sequence[Environment], *, flag: str) -> tuple[Environment, str]:
    prefix, colon, key = name.partition(":")
    if colon:
        by_id = {environment.id: environment for environment in environments}
        if prefix not in by_id:
            raise unknown_name("selected environment", prefix, by_id, flag=flag)
        if key not in by_id[prefix].info.args:
            raise unknown_name(f"argument of {prefix}", key, by_id[prefix].info.args, flag=flag)
        return by_id[prefix], key
    owners = [environment for environment in environments if name in environment.info.args]
    if not owners:
        declared = {key for environment in environments for key in environment.info.args}
        raise unknown_name("argument of a selected environment", name, declared, flag=flag)
    if len(owners) > 1:
        ways = [f"{environment.id}:{name}=…" for environment in owners]
        raise UsageProblem(
            f"{flag}: '{name}' is an argument of {len(owners)} selected environments; write "
            f"{spoken(ways)}"
        )
    return owners[0], name


_WORDS = {"true": True, "yes": True, "false": False, "no": False}
_INTEGER = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _parsed(declared: ArgumentDeclaration, text: str, place: str) -> ArgumentValue:
    value: Any = text
    if declared.type == "boolean":
        value = _WORDS.get(text.lower(), text)
    elif declared.type in ("integer", "number"):
        value = _number(text, whole=declared.type == "integer")
    return _accepted(declared, value, place, text)


def _number(text: str, *, whole: bool) -> float | str:
    """The number that is written in ASCII digits; the text itself, if it is none."""
    try:
        if _INTEGER.fullmatch(text):
            return int(text)
    except ValueError:  # more digits than Python reads
        return text
    return float(text) if _NUMBER.fullmatch(text) and not whole else text


def _accepted(declared: ArgumentDeclaration, value: Any, place: str, written: str) -> ArgumentValue:
    problem = declared.problem_of(value)
    if problem is not None:
        raise UsageProblem(f"{place}: '{written}' {problem}")
    accepted: ArgumentValue = value
    return accepted
