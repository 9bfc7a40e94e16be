"""Reading an environment's files into its model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from control_tower.environments.model import (
    Environment,
    EnvironmentInfo,
    MainTask,
    MainTaskInfo,
    SideTask,
    SideTaskInfo,
)
from control_tower.errors import UsageProblem, unknown_name

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound=BaseModel)

_PLAIN = {
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
}
"""What pydantic's errors of type are in YAML's terms."""
_SHOWN = 80
"""Characters of a wrong value that are worth showing."""

_ID = re.compile(r"[a-z0-9][a-z0-9_-]*\Z")


def load_environment(directory: Path) -> Environment:
    """Load the environment in `directory`; its id is the directory's name.

    Raises:
        UsageProblem: for a missing or malformed file, naming the file and the field.
    """
    environment = Environment(
        id=_checked_id(directory),
        directory=directory,
        info=_model(directory / "environment.yaml", EnvironmentInfo),
        description=_optional_text(directory / "docs" / "description.md"),
        attack_surface=_optional_text(directory / "docs" / "attack_surface.md"),
        main_tasks={task.id: task for task in _main_tasks(directory)},
        side_tasks={task.id: task for task in _side_tasks(directory)},
    )
    _check_compatible_main_tasks(environment)
    return environment


def _check_compatible_main_tasks(environment: Environment) -> None:
    for side in environment.side_tasks.values():
        named = side.info.compatible_main_tasks
        for main in () if named == "all" else named:
            if main not in environment.main_tasks:
                raise unknown_name(
                    "main task",
                    main,
                    environment.main_tasks,
                    flag=f"{side.directory / 'info.yml'}: compatible_main_tasks",
                )


def _main_tasks(directory: Path) -> Iterator[MainTask]:
    for task_directory in _task_directories(directory / "main_tasks"):
        info_file = task_directory / "info.yml"
        raw = _yaml(info_file)
        if "description" in raw:
            raw["description"] = _description(raw["description"], info_file)
        yield MainTask(
            id=_checked_id(task_directory),
            directory=task_directory,
            info=_validated(raw, info_file, MainTaskInfo),
        )


def _side_tasks(directory: Path) -> Iterator[SideTask]:
    for task_directory in _task_directories(directory / "side_tasks"):
        yield SideTask(
            id=_checked_id(task_directory),
            directory=task_directory,
            info=_model(task_directory / "info.yml", SideTaskInfo),
            goal=_text(task_directory / "docs" / "goal.md"),
            scoring_details=_optional_text(task_directory / "docs" / "scoring_details.md"),
        )


def _task_directories(parent: Path) -> list[Path]:
    if not parent.is_dir():
        return []
    return sorted(
        path for path in parent.iterdir() if path.is_dir() and not path.name.startswith((".", "_"))
    )


def _checked_id(directory: Path) -> str:
    if not _ID.match(directory.name):
        raise UsageProblem(
            f"{directory}: '{directory.name}' cannot be an id; "
            "use lower-case letters, digits, '_' and '-'"
        )
    return directory.name


def _description(value: Any, info_file: Path) -> Any:
    if not isinstance(value, dict):
        return value
    if set(value) != {"file"} or not isinstance(value["file"], str):
        raise UsageProblem(f"{info_file}: description: use a text or {{file: NAME}}")
    path = (info_file.parent / value["file"]).resolve()
    if not path.is_relative_to(info_file.parent.resolve()):
        raise UsageProblem(f"{info_file}: description: '{value['file']}' is outside the task")
    return _text(path)


def _model(path: Path, model: type[M]) -> M:
    return _validated(_yaml(path), path, model)


def _validated(raw: dict[str, Any], path: Path, model: type[M]) -> M:
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise _field_problem(path, error.errors()[0], model) from None


def _field_problem(path: Path, error: ErrorDetails, model: type[BaseModel]) -> UsageProblem:
    # Members of a union are in the location as types, such as `tuple[str, ...]`.
    place = [str(part) for part in error["loc"] if "[" not in str(part)]
    where = ".".join(place)
    if error["type"] == "extra_forbidden" and len(place) == 1:
        return unknown_name("field", where, model.model_fields, flag=str(path))
    if error["type"] == "extra_forbidden":
        return UsageProblem(f"{path}: no field is named '{where}'")
    if error["type"] == "missing":
        return UsageProblem(f"{path}: the field '{where}' is missing")
    said = _PLAIN.get(error["type"]) or error["msg"].removeprefix("Value error, ")
    value = json.dumps(error["input"], ensure_ascii=False, default=str)
    shown = f" (it is {value})" if len(value) <= _SHOWN else ""
    return UsageProblem(f"{path}: {where}: {said.replace('Input should be', 'must be')}{shown}")


def _yaml(path: Path) -> dict[str, Any]:
    import yaml

    try:
        raw = yaml.safe_load(_text(path))
    except RecursionError:
        raise UsageProblem(f"{path}: not valid YAML: it is nested too deeply") from None
    except yaml.YAMLError as error:
        raise UsageProblem(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(raw, dict):
        raise UsageProblem(f"{path}: expected a mapping of fields")
    return raw


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageProblem(f"{path}: this file is missing") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"{path}: cannot be read: {error}") from None


def _optional_text(path: Path) -> str:
    return _text(path) if path.exists() else ""
