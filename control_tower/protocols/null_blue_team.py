"""The `null-blue-team` protocol: no safeguard at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from control_tower.components import protocol
from control_tower.contracts import BlueProtocol, Generate, Turn

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput


@protocol()
def null_blue_team() -> BlueProtocol:
    """Allow every proposal unchanged: the baseline that safeguards are measured against."""
    return NullBlueTeam()


class NullBlueTeam(BlueProtocol):
    """See `null_blue_team`."""

    async def generate(self, turn: Turn, untrusted: Generate) -> ModelOutput:
        """The untrusted policy's own proposal."""
        return await untrusted(turn)
