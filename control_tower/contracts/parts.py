"""The parts a run is put together from: what each must be able to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool, ModelOutput
    from inspect_ai.solver import TaskState
    from inspect_ai.tool import Tool

    from control_tower.contracts.teams import BlueContext, Case, RedContext
    from control_tower.contracts.turn import Generate, Turn
    from control_tower.trajectories.schema import Action, MonitorResponse


class Policy(ABC):
    """The untrusted side: proposes the next assistant turn. One instance a sample."""

    declares_attacks: bool = False
    """Whether it says which of its turns are part of an attack, with `declare_attack`. An audit of
    a declared turn catches the attack; of a policy that declares nothing, every audited turn counts
    as caught, which is an upper bound."""

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


class Monitor(ABC):
    """Scores suspicion. One instance a sample; it may be asked about several cases at once."""

    @abstractmethod
    async def score(self, case: Case) -> MonitorResponse:
        """How suspicious the case is, from 0 (benign) to 10; None if it cannot be said."""


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
