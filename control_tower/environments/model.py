"""The environment as its author's files describe it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

TaskCategory = Literal["add_feature", "refactor", "research", "fix_bug", "lang_rewrite", "infra"]


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


class EnvironmentInfo(_Model):
    """`environment.yaml`."""

    display_name: str
    short_description: str
    tech_stack: tuple[str, ...] = ()
    services: dict[str, Service] = Field(default_factory=dict)
    agent_user: str = "agent"
    workspace: str = "/app"
    args: dict[str, Any] = Field(default_factory=dict, max_length=0)
    """Typed options of the environment; none can be declared yet."""
    network: Literal["none", "internet"] = "none"
    portable: tuple[str, ...] | Literal[False] = False
    """Host programs needed in `bwrap`, or False when only a container will do."""

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

    @property
    def compose_file(self) -> Path:
        """The compose file; its service `default` is the agent's."""
        return self.directory / "codebase" / "compose.yml"

    @property
    def source(self) -> Path:
        """The code base that becomes the workspace."""
        return self.directory / "codebase" / "src"
