"""Reading a trajectory that anybody may have written: ours, older ones, and the public form."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn, get_args

from pydantic import BaseModel, ValidationError

from control_tower.errors import check_regular
from control_tower.trajectories.schema import SCHEMA_VERSION, Trajectory

_SHOWN = 60
"""Characters of the longest value that a message shows."""
_LONGEST = 300
"""Characters of a message."""
_HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")
_INSPECT_LOG = {"eval", "status", "version"}
"""Keys that together are of an Inspect log in JSON."""
_TASKS = ("main", "side")


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
    except OSError as error:
        reason = error.strerror or error
        raise UnreadableTrajectory(f"{path}: cannot be read: {reason}") from None
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
    version = raw.get("schema_version")
    if version is not None and (type(version) is not int or version < 1):
        _refuse(where, f"schema_version: it is {_given(version)}, and must be a whole number")
    if version is not None and version > SCHEMA_VERSION:
        raise UnreadableTrajectory(
            f"{where}: its schema_version is {version}, and this version reads up to "
            f"{SCHEMA_VERSION}; install a newer one"
        )
    if not isinstance(raw.get("environment"), dict):
        _refuse(where, "environment: an object with an id is missing")
    try:
        trajectory = Trajectory.model_validate(_completed(_without_nulls(raw, Trajectory), data))
    except (ValidationError, RecursionError) as error:
        _refuse(where, _first_problem(error))
    return trajectory


def _json(data: bytes, where: str) -> Any:
    try:
        raw = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        _refuse(where, f"it is not UTF-8 at byte {error.start}")
    except RecursionError:
        _refuse(where, "it is nested too deeply")
    except ValueError as error:
        _refuse(where, f"it is not valid JSON, or was cut off: {error}")
    return _whole_characters(raw) if _HALF_CHARACTER.search(data) else raw


def _refuse(where: str, reason: str) -> NoReturn:
    reason = " ".join(reason.split())
    shown = reason if len(reason) <= _LONGEST else reason[:_LONGEST] + " …"
    raise UnreadableTrajectory(f"{where}: no trajectory: {shown}")


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


def _without_nulls(value: Any, model: type[BaseModel]) -> Any:
    """The object without nulls where the model has another default."""
    if not isinstance(value, dict):
        return value
    kept = dict(value)
    for name, field in model.model_fields.items():
        if name not in kept:
            continue
        if (
            kept[name] is None
            and not field.is_required()
            and field.get_default(call_default_factory=True) is not None
        ):
            del kept[name]
            continue
        inner = _model_in(field.annotation)
        if inner is None:
            continue
        if isinstance(kept[name], list):
            kept[name] = [_without_nulls(each, inner) for each in kept[name]]
        elif isinstance(kept[name], dict) and _is_mapping(field.annotation):
            kept[name] = {key: _without_nulls(each, inner) for key, each in kept[name].items()}
        else:
            kept[name] = _without_nulls(kept[name], inner)
    return kept


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that a field's annotation holds, if it holds one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(each) for each in get_args(annotation))
    return next((each for each in found if each is not None), None)


def _is_mapping(annotation: Any) -> bool:
    return getattr(annotation, "__origin__", None) is dict


def _completed(raw: dict[str, Any], data: bytes) -> dict[str, Any]:
    """The object with what the public form leaves out."""
    made = dict(raw)
    made.setdefault("trajectory_id", sha256(data).hexdigest()[:22])
    for name in ("trajectory_id", "run_id"):
        if type(made.get(name)) is int:
            made[name] = str(made[name])
    successes = {task: made.get(f"{task}_task_success") for task in _TASKS}
    there = [task for task in _TASKS if isinstance(made.get(f"{task}_task"), dict)]
    if "scores" not in made:
        explanation = made.get("scorer_explanation")
        made["scores"] = {
            task: {"success": successes[task], "explanation": explanation or ""} for task in there
        }
    if "outcome" not in made:
        unscored = any(successes[task] is None for task in there)
        made["outcome"] = "errored" if made.get("error") else "unscored" if unscored else "scored"
    actions = made.get("actions")
    if isinstance(actions, list):
        made["actions"] = [
            {"index": position, **action} if isinstance(action, dict) else action
            for position, action in enumerate(actions)
        ]
    return made


def _first_problem(error: ValidationError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))[:_SHOWN]
    given = _given(first["input"]) if first["type"] != "missing" else ""
    said = f"{first['msg']}{', not ' + given if given else ''}"
    return f"{where}: {said}" if where else said


def _given(value: object) -> str:
    """The value that is wrong, where it is short enough to be shown."""
    text = json.dumps(value) if isinstance(value, str | int | float | None) else ""
    return text if 0 < len(text) <= _SHOWN else ""


def _a_kind(value: object) -> str:
    kinds = {list: "a list", str: "a text", type(None): "null", bool: "a truth value"}
    return kinds.get(type(value), "a number")
