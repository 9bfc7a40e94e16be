"""Reading a trajectory that anybody may have written: ours, older ones, and the public form."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from control_tower.errors import check_regular
from control_tower.trajectories.one_line import one_line, visible
from control_tower.trajectories.public_form import completed
from control_tower.trajectories.schema import SCHEMA_VERSION, Trajectory

_SHOWN = 60
"""Characters of the longest value that a message shows."""
_DEEPEST = 100
"""Objects and lists in one another. What is deeper could be read, but not written again."""
LONGEST_ID = 300
"""Characters."""
LATEST = 253402300799
"""The last second of the year 9999: clocks and calendars have no later one."""
_HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")
_SAID = {"model_type": "it must be an object", "dict_type": "it must be an object"}
"""Of some types of problems: pydantic names our classes, or dictionaries."""
_INSPECT_LOG = {"eval", "status", "version"}
"""Keys that together are of an Inspect log in JSON."""


class UnreadableTrajectory(ValueError):
    """A text or file that is no trajectory, in one line that begins with where it is."""


def read_trajectory(path: Path) -> Trajectory:
    """Read a trajectory's file.

    Raises:
        UnreadableTrajectory: it cannot be read, is no trajectory, or is of a newer kind.
    """
    try:
        check_regular(path)
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UnreadableTrajectory(f"{visible(str(path))}: cannot be read: {reason}") from None
    return parse_trajectory(data, where=str(path))


def parse_trajectory(data: bytes | str, *, where: str) -> Trajectory:
    """The trajectory in a JSON text: of schema 2 or 1, or in the public form.

    The public form has no `schema_version`, and may have null where we have an empty text or list.
    What it has not is derived: an id from the contents, scores and outcome from the successes.

    Args:
        data: the text.
        where: what messages begin with.

    Raises:
        UnreadableTrajectory: it is no trajectory, or of a newer kind.
    """
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    raw = _json(data, where)
    if not isinstance(raw, dict):
        _refuse(where, f"it is {_a_kind(raw)}, and a trajectory is an object")
    if raw.keys() >= _INSPECT_LOG:
        _refuse(where, "it is an Inspect log, or a part of one")
    _check_version(raw.get("schema_version"), where)
    if not isinstance(raw.get("environment"), dict):
        _refuse(where, 'environment: it must be an object with an id, as in {"id": "ledger"}')
    try:
        trajectory = Trajectory.model_validate(completed(raw, data))
    except ValidationError as error:
        _refuse(where, _first_problem(error))
    _check_values(trajectory, where)
    return trajectory


def _json(data: bytes, where: str) -> Any:
    if not data.strip():
        _refuse(where, "it is empty")
    try:
        text = data.decode("utf-8-sig")
        raw = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except UnicodeDecodeError as error:
        _refuse(where, f"it is not UTF-8 at byte {error.start}")
    except json.JSONDecodeError as error:
        _refuse(where, f"it is not valid JSON, or was cut off: {error}")
    except RecursionError:
        _refuse(where, "it is nested too deeply")
    except ValueError as error:
        _refuse(where, f"it has a number that is none: {str(error).partition(':')[0]}")
    if _too_deep(raw):
        _refuse(where, f"it is nested too deeply: over {_DEEPEST} levels")
    return _whole_characters(raw) if _HALF_CHARACTER.search(data) else raw


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{one_line(text, most=_SHOWN)} is too large")
    return number


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        inner = (
            v.values() if isinstance(v, dict) else v for v in level if isinstance(v, list | dict)
        )
        level = [each for values in inner for each in values if isinstance(each, list | dict)]
        if not level:
            return False
    return True


def _refuse(where: str, reason: str) -> NoReturn:
    raise UnreadableTrajectory(f"{visible(where)}: no trajectory: {one_line(reason)}")


def _whole_characters(value: Any) -> Any:
    """The value with a question mark for each half of a character."""
    if isinstance(value, str):
        return (
            value.encode("utf-16", "surrogatepass")
            .decode("utf-16", "replace")
            .replace("\ufffd", "?")
        )
    if isinstance(value, list):
        return [_whole_characters(each) for each in value]
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(each) for key, each in value.items()}
    return value


def _check_version(version: Any, where: str) -> None:
    if version is None:
        return
    if type(version) is not int or version < 1:
        given = _given(version)
        _refuse(where, f"schema_version: must be a whole number from 1{given and f', not {given}'}")
    if version > SCHEMA_VERSION:
        newer = one_line(str(version), most=_SHOWN)
        raise UnreadableTrajectory(
            f"{visible(where)}: its schema_version is {newer}, and this version reads up to "
            f"{SCHEMA_VERSION}; install a newer one"
        )


def _check_values(t: Trajectory, where: str) -> None:
    """Refuse what has the right type and cannot be meant."""
    ids = {"trajectory_id": t.trajectory_id, "run_id": t.run_id, "sample_id": t.sample_id}
    named = {"environment": t.environment, "main_task": t.main_task, "side_task": t.side_task}
    for name, record in named.items():
        if record is not None and not record.id:
            _refuse(where, f"{name}.id: it is empty")
        ids[f"{name}.id"] = record.id if record is not None else ""
    for name, id in ids.items():
        if len(id) > LONGEST_ID:
            _refuse(where, f"{name}: it has {len(id)} characters, and {LONGEST_ID} is the most")
    if not 1 <= t.epoch <= 10**9:
        _refuse(where, f"epoch: it is counted from 1, and cannot be {_given(t.epoch)}")
    if t.recorded_at is not None and not 0 <= t.recorded_at <= LATEST:
        _refuse(where, f"recorded_at: {_given(t.recorded_at)} is no moment in seconds since 1970")


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"]))[:_SHOWN]
    given = _given(first["input"]) if first["type"] != "missing" else ""
    said = _SAID.get(first["type"], first["msg"]) + (f", not {given}" if given else "")
    return f"{where}: {said}" if where else said


def _given(value: object) -> str:
    """The value that is wrong, where it is short enough to be shown."""
    if not isinstance(value, str | int | float | None):
        return ""
    text = "" if isinstance(value, int) and abs(value) > 10**_SHOWN else json.dumps(value)
    return text if len(text) <= _SHOWN else ""


def _a_kind(value: object) -> str:
    kinds = {list: "a list", str: "a text", type(None): "null", bool: "a truth value"}
    return kinds.get(type(value), "a number")
