"""What other makers leave out of a trajectory, or write as null, and we need."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, get_args

from pydantic import BaseModel

from control_tower.trajectories.schema import Trajectory

_TASKS = ("main", "side")
_ID_LENGTH = 22
"""Characters of an id that is derived: as many as Inspect's have."""


def completed(raw: dict[str, Any], data: bytes) -> dict[str, Any]:
    """The object with defaults for nulls, and with what is derived.

    An id comes from the contents, an action's index from its position, scores and the outcome from
    the successes. A task whose id is null is none.

    Args:
        raw: as it was read.
        data: what it was read from.
    """
    made: dict[str, Any] = _without_nulls(raw, Trajectory)
    for name in ("trajectory_id", "run_id"):
        if type(made.get(name)) is int:
            made[name] = str(made[name])
    if made.get("trajectory_id") in (None, ""):
        made["trajectory_id"] = sha256(data).hexdigest()[:_ID_LENGTH]
    for task in (f"{task}_task" for task in _TASKS):
        if isinstance(made.get(task), dict) and made[task].get("id", "") is None:
            made[task] = None
    if isinstance(made.get("actions"), list):
        made["actions"] = _numbered(made["actions"])
    _add_outcome(made)
    return made


def _numbered(actions: list[Any]) -> list[Any]:
    """Actions with their positions, where an index is missing or there twice; errors in words."""
    given = [action.get("index") for action in actions if isinstance(action, dict)]
    known = [index for index in given if type(index) is int]
    again = len(set(known)) < len(known)
    return [
        {
            **action,
            "index": position if again or action.get("index") is None else action["index"],
            "output_error": action.get("output_error") or None,
        }
        if isinstance(action, dict)
        else action
        for position, action in enumerate(actions)
    ]


def _add_outcome(made: dict[str, Any]) -> None:
    """Derive scores and outcome where the object has none."""
    there = [task for task in _TASKS if made.get(f"{task}_task") is not None]
    successes = {task: made.get(f"{task}_task_success") for task in there}
    if "scores" not in made:
        explanation = made.get("scorer_explanation", "")
        made["scores"] = {
            task: {"success": success, "explanation": explanation}
            for task, success in successes.items()
        }
    if "outcome" not in made:
        unscored = None in successes.values()
        made["outcome"] = "errored" if made.get("error") else "unscored" if unscored else "scored"


def _without_nulls(value: Any, model: type[BaseModel]) -> Any:
    """The object without nulls where the model has another default."""
    if not isinstance(value, dict):
        return value
    kept = dict(value)
    for name, field in model.model_fields.items():
        if name not in kept:
            continue
        if kept[name] is None:
            if not field.is_required() and field.get_default(call_default_factory=True) is not None:
                del kept[name]
            continue
        inner = _model_in(field.annotation)
        if inner is not None:
            kept[name] = _all_without_nulls(kept[name], inner, field.annotation)
    return kept


def _all_without_nulls(value: Any, model: type[BaseModel], annotation: Any) -> Any:
    """A field's value: an object of the model, or a list or an object of such."""
    if isinstance(value, list):
        return [_without_nulls(each, model) for each in value]
    if isinstance(value, dict) and getattr(annotation, "__origin__", None) is dict:
        return {key: _without_nulls(each, model) for key, each in value.items()}
    return _without_nulls(value, model)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that a field's annotation holds, if it holds one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_model_in(each) for each in get_args(annotation))
    return next((each for each in found if each is not None), None)
