"""The environment as its author's files describe it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)

TaskCategory = Literal["add_feature", "refactor", "research", "fix_bug", "lang_rewrite", "infra"]

ARGUMENT_PREFIX = "CT_ARG_"
"""What the names of environment variables with arguments begin with."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Service(_Model):
    """A service of the environment."""

    description: str = ""
    start: str | None = None
    """Shell command, run in the workspace, that starts it; None when the container does."""
    ready: str | None = None
    """Shell command, run in the workspace, that exits 0 once the service answers."""
    ready_timeout: int = Field(default=60, ge=1)
    """Seconds to wait for `ready`."""


ArgumentValue = StrictBool | StrictInt | StrictFloat | StrictStr
"""What an argument can be set to."""

_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_ARGUMENT = re.compile(r"[a-z][a-z0-9_]*\Z")


class ArgumentDeclaration(_Model):
    """An argument of the environment, as `environment.yaml` declares it."""

    type: Literal["string", "integer", "number", "boolean"]
    default: ArgumentValue
    description: str = ""
    choices: tuple[ArgumentValue, ...] = ()
    """The only values allowed; empty for any."""
    minimum: float | None = None
    maximum: float | None = None

    @model_validator(mode="after")
    def _default_is_allowed(self) -> ArgumentDeclaration:
        for value in (*self.choices, self.default):
            problem = self.problem_of(value)
            if problem is not None:
                raise ValueError(f"its value '{value}' {problem}")
        return self

    def problem_of(self, value: object) -> str | None:
        """What is wrong with a value, as the end of a sentence; None if it is allowed."""
        right = isinstance(value, _PYTHON_TYPES[self.type])
        if not right or (isinstance(value, bool) and self.type != "boolean"):
            return f"is no {self.type}" + (" (true or false)" if self.type == "boolean" else "")
        if isinstance(value, float) and not math.isfinite(value):
            return "is no finite number"
        if self.choices and value not in self.choices:
            return f"is not one of: {', '.join(map(str, self.choices))}"
        if isinstance(value, int | float) and self.type != "boolean":
            if self.minimum is not None and value < self.minimum:
                return f"is below {self.minimum:.12g}"
            if self.maximum is not None and value > self.maximum:
                return f"is above {self.maximum:.12g}"
        return None


class EnvironmentInfo(_Model):
    """`environment.yaml`."""

    display_name: str
    short_description: str
    tech_stack: tuple[str, ...] = ()
    services: dict[str, Service] = Field(default_factory=dict)
    agent_user: str = "agent"
    workspace: str = "/app"
    args: dict[str, ArgumentDeclaration] = Field(default_factory=dict)
    """Its arguments, which `--env-arg` sets."""
    network: Literal["none", "internet"] = "none"
    portable: tuple[str, ...] | Literal[False] = False
    """Host programs needed in `bwrap`, or False when only a container will do."""

    @field_validator("args")
    @classmethod
    def _named_like_variables(
        cls, value: dict[str, ArgumentDeclaration]
    ) -> dict[str, ArgumentDeclaration]:
        for name in value:
            if not _ARGUMENT.match(name):
                raise ValueError(f"'{name}' is no name: use lower-case letters, digits and '_'")
        return value

    @field_validator("workspace")
    @classmethod
    def _absolute(cls, value: str) -> str:
        path = value.rstrip("/")
        if not path.startswith("/") or ".." in path.split("/") or not path.isprintable():
            raise ValueError("must be an absolute path without '..', and not '/' itself")
        return path


class MainTaskInfo(_Model):
    """`main_tasks/<id>/info.yml`, with `description` resolved to its text."""

    name: str
    task_category: TaskCategory
    short_description: str = ""
    scorer_description: str = ""
    coverage: tuple[str, ...] = ()
    description: str


class SideTaskInfo(_Model):
    """`side_tasks/<id>/info.yml`."""

    name: str
    task_category: str
    failure_type: Literal["live", "delayed"]
    short_description: str = ""
    scorer_description: str = ""
    compatible_main_tasks: tuple[str, ...] | Literal["all"] = "all"


class _Task(_Model):
    id: str
    directory: Path

    @property
    def scorer(self) -> Path | None:
        """The scorer's file, or None when the task has none."""
        path = self.directory / "scorer.py"
        return path if path.is_file() else None

    @property
    def setup(self) -> Path | None:
        """The set-up script, run in the sandbox before the agent starts."""
        path = self.directory / "setup.sh"
        return path if path.is_file() else None

    @property
    def files(self) -> Path | None:
        """The directory copied over the workspace before set-up."""
        path = self.directory / "files"
        return path if path.is_dir() else None


class MainTask(_Task):
    """A main task: the useful work."""

    info: MainTaskInfo

    @property
    def solution(self) -> list[Path]:
        """The reference solution's scripts, in name order."""
        return sorted((self.directory / "solution").glob("*.sh"))


class SideTask(_Task):
    """A side task: the harmful goal."""

    info: SideTaskInfo
    goal: str
    scoring_details: str = ""

    @property
    def attack(self) -> list[Path]:
        """The reference attack's scripts, in name order."""
        return sorted((self.directory / "attack").glob("*.sh"))

    def compatible_with(self, main_task_id: str) -> bool:
        """Whether the pair with that main task makes sense."""
        allowed = self.info.compatible_main_tasks
        return allowed == "all" or main_task_id in allowed


class Environment(_Model):
    """A loaded environment."""

    id: str
    directory: Path
    info: EnvironmentInfo
    description: str = ""
    attack_surface: str = ""
    main_tasks: dict[str, MainTask]
    side_tasks: dict[str, SideTask]
    arguments: dict[str, ArgumentValue] = Field(default_factory=dict)
    """By key: all that are declared, with the values of this run."""

    def with_arguments(self, given: Mapping[str, ArgumentValue]) -> Environment:
        """The environment with these values, and the declared defaults of the others."""
        defaults = {key: declared.default for key, declared in self.info.args.items()}
        return self.model_copy(update={"arguments": {**defaults, **given}})

    @property
    def argument_variables(self) -> dict[str, str]:
        """Its arguments as set-up, services, checks and the compose file see them: `CT_ARG_…`."""
        return {
            f"{ARGUMENT_PREFIX}{key.upper()}": (
                str(value).lower() if isinstance(value, bool) else str(value)
            )
            for key, value in self.arguments.items()
        }

    @property
    def compose_file(self) -> Path:
        """The compose file; its service `default` is the agent's."""
        return self.directory / "codebase" / "compose.yml"

    @property
    def source(self) -> Path:
        """The code base that becomes the workspace."""
        return self.directory / "codebase" / "src"
