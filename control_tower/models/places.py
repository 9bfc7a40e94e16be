"""The places outside the command line that name models: variables and the project file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from control_tower.errors import UsageProblem, current_folder, is_directory, is_file, unknown_words

INSPECT_VARIABLE = "INSPECT_EVAL_MODEL"
PROJECT_FILE = "pyproject.toml"
PROJECT_TABLE = "tool.control-tower.models"
_TOOL, _MODELS = "control-tower", "models"


def role_variable(role: str) -> str:
    """The environment variable that sets the model of `role`."""
    return "CT_MODEL_" + role.upper().replace("-", "_")


def variable(name: str) -> str | None:
    """The value of an environment variable; None if it is unset or blank."""
    return os.environ.get(name, "").strip() or None


@dataclass(frozen=True)
class ProjectModels:
    """The table of a project file."""

    file: str = PROJECT_FILE
    models: Mapping[str, str | Mapping[str, Any]] = field(default_factory=dict)
    """By role: a name, or a whole spec."""

    @classmethod
    def nearest(cls) -> ProjectModels:
        """Of the nearest project file from the current folder upwards; empty without one.

        Raises:
            UsageProblem: for a file that cannot be read, or something wrong in the table.
        """
        folder = current_folder()
        for each in (folder, *folder.parents):
            file = each / PROJECT_FILE
            if is_file(file):
                return cls(str(file), _table(file))
            if is_directory(file):
                raise UsageProblem(f"{file}: cannot be read: it is a directory")
        return cls()


def _table(file: Path) -> dict[str, Any]:
    try:
        tools = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, ValueError, RecursionError) as error:
        cause = " ".join(str(error).split())
        raise UsageProblem(f"{file}: cannot be read: {cause}") from None
    if not isinstance(tools, dict):
        raise UsageProblem(f"{file}: tool: expected a table")
    own = tools.get(_TOOL, {})
    if not isinstance(own, dict):
        raise UsageProblem(f"{file}: tool.{_TOOL}: expected a table")
    for key in own:
        if key != _MODELS:
            words = unknown_words(f"table of [tool.{_TOOL}]", key, [_MODELS])
            raise UsageProblem(f"{file}: {words}")
    models = own.get(_MODELS, {})
    if not isinstance(models, dict):
        raise UsageProblem(f"{file}: {PROJECT_TABLE}: expected a table of models by role")
    for role, value in models.items():
        if not isinstance(value, str | dict) or not value:
            expected = 'a text such as "openai/gpt-4o", or an inline table'
            raise UsageProblem(f"{file}: role '{role}': expected {expected} (given {value!r})")
    return models
