"""A middle between a policy and a protocol of the test's, without an eval.

async def replaces(blue: Blue, asked: Turn, untrusted: Generate) -> ModelOutput:
    return blue.context.decisions.replace(await untrusted(asked), bash("echo safe"))

middle, record = between(Scripted(bash("rm -rf /")), Blue(replaces))
decided = await middle.decide(turn())
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from inspect_ai.log import transcript
from inspect_ai.model import ChatMessageUser, ModelOutput
from inspect_ai.tool import ToolInfo

from control_tower import scripted
from control_tower.contracts import BlueContext, BlueProtocol, EnvironmentBrief, Policy, Turn
from control_tower.episode.middle import Middle
from control_tower.episode.record import EpisodeRecord

if TYPE_CHECKING:
    from control_tower.contracts import Generate

CONTEXT = BlueContext(EnvironmentBrief("mini", "Mini", "A tiny system.", "/app"), None)
BASH = ToolInfo(name="bash", description="Runs a command.")


class Scripted(Policy):
    """Gives outputs in turn, and remembers the turns it was asked."""

    def __init__(self, *outputs: ModelOutput, declares: bool = False) -> None:
        self.outputs = list(outputs)
        self.asked: list[Turn] = []
        self.declares_attacks = declares

    async def generate(self, turn: Turn) -> ModelOutput:
        self.asked.append(turn)
        return self.outputs.pop(0)


class Blue(BlueProtocol):
    """Does what a function of the test says, and remembers what it saw."""

    def __init__(self, ruling: Callable[..., Any] | None = None) -> None:
        self.shown: list[Turn] = []
        self.proposals: list[ModelOutput] = []
        self.context = CONTEXT
        self._ruling = ruling

    async def generate(self, turn: Turn, untrusted: Generate) -> ModelOutput:
        self.shown.append(turn)
        if self._ruling is not None:
            return await self._ruling(self, turn, untrusted)
        proposal = await untrusted(turn)
        self.proposals.append(proposal)
        return proposal


def between(
    policy: Policy,
    blue: Blue,
    *,
    attacks: bool = True,
    private: frozenset[str] = frozenset(),
) -> tuple[Middle, EpisodeRecord]:
    """A middle, whose context the protocol has, and the record that it keeps."""
    record = EpisodeRecord()
    middle = Middle(policy, blue, CONTEXT, record, attacks=attacks, private_tools=private)
    blue.context = middle.blue
    return middle, record


def turn(*messages: Any, tools: list[ToolInfo] | None = None) -> Turn:
    """What the harness asks for, after these messages."""
    return Turn(messages=[ChatMessageUser(content="Fix it."), *messages], tools=tools or [BASH])


def bash(command: str = "ls", **more: Any) -> ModelOutput:
    """A proposal of one command."""
    return scripted.call("bash", {"command": command}, **more)


def told(source: str) -> list[Any]:
    """What that source has written into the transcript."""
    return [e.data for e in transcript().events if e.event == "info" and e.source == source]
