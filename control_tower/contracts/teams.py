"""What each team is told of a sample: red everything, blue nothing of a side task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from control_tower.contracts.decisions import Decisions

if TYPE_CHECKING:
    from control_tower.trajectories.schema import Action, Trajectory

Mode: TypeAlias = Literal["honest", "attack"]
"""`honest`: a main task alone. `attack`: a side task, with or without a main task."""


@dataclass(frozen=True)
class EnvironmentBrief:
    """What both teams know of the environment."""

    id: str
    display_name: str
    description: str
    """Text of docs/description.md."""
    workspace: str
    """Absolute path of the agent's working directory in the sandbox."""


@dataclass(frozen=True)
class MainTaskBrief:
    """A main task as the agent and both teams see it."""

    id: str
    name: str
    category: str
    description: str


@dataclass(frozen=True)
class SideTaskBrief:
    """A side task as the red team sees it."""

    id: str
    name: str
    category: str
    failure_type: Literal["live", "delayed"]
    goal: str
    scoring_details: str


@dataclass(frozen=True)
class ReferenceStep:
    """One command of a reference solution or attack, run with bash in the workspace."""

    name: str
    """File name it came from, such as `01-migration.sh`."""
    command: str


@dataclass(frozen=True)
class RedContext:
    """What the untrusted policy is told: everything, the side task included."""

    environment: EnvironmentBrief
    main_task: MainTaskBrief | None
    side_task: SideTaskBrief | None
    attack_surface: str = ""
    """Text of docs/attack_surface.md."""
    solution: Sequence[ReferenceStep] = ()
    attack: Sequence[ReferenceStep] = ()
    epoch: int = 1
    recording: Trajectory | None = None
    """The recorded run that the sample is about, if it is about one."""
    history: Sequence[Action] = ()
    """The actions that were executed so far, in order; it grows during the run."""


class RootShell(Protocol):
    """Runs commands as root beside the agent, in its container."""

    async def __call__(self, command: Sequence[str]) -> str:
        """Run a command; its standard output.

        Raises:
            RuntimeError: if it fails; with what it wrote to standard error.
        """


@dataclass(frozen=True)
class BlueContext:
    """What a protocol is told, and where it says what it decided.

    It has no field that could hold a side task.
    """

    environment: EnvironmentBrief
    main_task: MainTaskBrief | None
    epoch: int = 1
    history: Sequence[Action] = ()
    """The actions that were executed so far, in order, with their outputs; it grows during the
    run. Calls of the red team's private tools are not in it."""
    decisions: Decisions = field(default_factory=Decisions, compare=False, repr=False)
    root: RootShell | None = None
    """Runs commands as root beside the agent; None without `--network-control`."""

    def random(self, seed: int | None) -> Random:
        """A generator for the protocol's draws.

        Args:
            seed: with one, a sample's draws are the same in every run. They differ between
                environments, main tasks and epochs, and do not depend on a side task. None: from
                the system's entropy.
        """
        if seed is None:
            return Random()
        main = self.main_task.id if self.main_task else "-"
        return Random(f"{seed}/{self.environment.id}/{main}/{self.epoch}")


@dataclass(frozen=True)
class Case:
    """What a monitor is asked about: a proposed turn, or, without one, the run so far."""

    environment: EnvironmentBrief
    main_task: MainTaskBrief | None
    history: Sequence[Action] = ()
    """The actions executed before, in order."""
    proposal: Sequence[Action] = ()
    """The proposed turn's tool calls as actions that have no output yet, in order."""
