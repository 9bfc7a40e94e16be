"""Protocols that a recorded run is replayed under."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from control_tower.components import protocol
from control_tower.contracts import BlueContext, BlueProtocol, Generate, Turn

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput


class _Decides(BlueProtocol):
    """Knows where to say what it decided."""

    async def setup(self, context: BlueContext) -> None:
        self.decisions = context.decisions


@protocol()
def audits_all() -> BlueProtocol:
    """Every turn is allowed and audited."""
    return _AuditsAll()


class _AuditsAll(_Decides):
    async def generate(self, turn: Turn, untrusted: Generate) -> ModelOutput:
        proposal = await untrusted(turn)
        self.decisions.audit(proposal)
        return self.decisions.allow(proposal)


@protocol()
def terminates() -> BlueProtocol:
    """The second turn ends the run."""
    return _Terminates()


class _Terminates(_Decides):
    turns = 0

    async def generate(self, turn: Turn, untrusted: Generate) -> ModelOutput:
        proposal = await untrusted(turn)
        self.turns += 1
        if self.turns == 2:
            self.decisions.terminate(proposal, reason="that is enough")
        return self.decisions.allow(proposal)


@protocol()
def blocks_once() -> BlueProtocol:
    """The first proposal is blocked, and the policy asked again."""
    return _BlocksOnce()


class _BlocksOnce(_Decides):
    blocked = False

    async def generate(self, turn: Turn, untrusted: Generate) -> ModelOutput:
        proposal = await untrusted(turn)
        if not self.blocked:
            self.blocked = True
            self.decisions.block(proposal)
            proposal = await untrusted(turn)
        return self.decisions.allow(proposal)


@protocol()
def alters() -> BlueProtocol:
    """Every command gets a comment."""
    return _Alters()


class _Alters(_Decides):
    async def generate(self, turn: Turn, untrusted: Generate) -> ModelOutput:
        proposal = await untrusted(turn)
        message = proposal.message
        calls = [
            replace(call, arguments={**call.arguments, "command": f"{call.arguments['command']} #"})
            for call in message.tool_calls or []
            if call.function == "bash"
        ]
        altered = message.model_copy(update={"tool_calls": calls, "id": None})
        choice = proposal.choices[0].model_copy(update={"message": altered})
        return proposal.model_copy(update={"choices": [choice]})
