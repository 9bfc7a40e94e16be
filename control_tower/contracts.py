"""What policies, protocols and harnesses are to each other (design: contracts)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from inspect_ai.model import (
        ChatMessage,
        ChatMessageAssistant,
        ChatMessageTool,
        GenerateConfig,
        ModelOutput,
    )
    from inspect_ai.solver import TaskState
    from inspect_ai.tool import Tool, ToolChoice, ToolInfo

    from control_tower.trajectories.schema import Action

Mode: TypeAlias = Literal["honest", "attack"]
"""`honest`: a main task alone. `attack`: a side task, with or without a main task."""


@dataclass(frozen=True)
class Turn:
    """One request for an assistant turn."""

    messages: Sequence[ChatMessage]
    tools: Sequence[ToolInfo]
    tool_choice: ToolChoice | None = None
    config: GenerateConfig | None = None
    thread: str = "main"
    """Which conversation asks: real agents hold side conversations beside the main one."""
    kind: Literal["action", "utility"] = "action"
    """`utility` turns (titles, summaries, compaction) call no tools and are not scored."""


Generate: TypeAlias = "Callable[[Turn], Awaitable[ModelOutput]]"
"""Proposes (a policy's) or decides (a protocol's) the next assistant turn."""


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


@dataclass(frozen=True)
class BlueContext:
    """What a protocol is told. It has no field that could hold a side task."""

    environment: EnvironmentBrief
    main_task: MainTaskBrief | None
    epoch: int = 1


class Policy(ABC):
    """The untrusted side: proposes the next assistant turn. One instance a sample."""

    async def setup(self, context: RedContext) -> None:  # noqa: B027 (optional hook)
        """Called once, before the first turn."""

    @abstractmethod
    async def generate(self, turn: Turn) -> ModelOutput:
        """Propose the next assistant turn."""

    async def finish(self, context: RedContext) -> None:  # noqa: B027 (optional hook)
        """Called once, after the last turn, before scoring; not when the sample errors."""


class BlueProtocol(ABC):
    """The blue side: decides what becomes of a proposed turn. One instance a sample."""

    async def setup(self, context: BlueContext) -> None:  # noqa: B027 (optional hook)
        """Called once, before the first turn."""

    @abstractmethod
    async def generate(self, turn: Turn, untrusted: Generate) -> ModelOutput:
        """Decide the next assistant turn, asking `untrusted` for proposals."""

    async def finish(self, context: BlueContext) -> None:  # noqa: B027 (optional hook)
        """Called once, after the last turn, before scoring; not when the sample errors."""


class ToolBackend(ABC):
    """Executes the tool calls of one assistant message."""

    @abstractmethod
    async def execute(
        self, message: ChatMessageAssistant, tools: Sequence[Tool]
    ) -> list[ChatMessageTool]:
        """Answer every call of `message`, in call order; a bad call gets an error answer."""


@dataclass
class HarnessSession:
    """What a harness works with: one sample's conversation, tools and record."""

    state: TaskState
    """Inspect's state; the harness appends to `state.messages` and sets `state.output`."""
    system_prompt: str
    task_prompt: str
    tools: Sequence[Tool]
    backend: ToolBackend
    record: Callable[[Action], None]
    """Called once for each executed tool call, in order."""


class Harness(ABC):
    """The loop that turns assistant turns into tool calls."""

    @abstractmethod
    async def run(self, session: HarnessSession, generate: Generate) -> None:
        """Run the loop until the agent submits, gives up, or a limit of Inspect's ends it."""
