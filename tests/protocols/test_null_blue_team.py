"""The protocol that safeguards nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from control_tower import scripted
from control_tower.contracts import Turn
from control_tower.protocols.null_blue_team import null_blue_team

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput


def test_every_proposal_is_allowed_unchanged() -> None:
    proposal = scripted.call("bash", {"command": "rm -rf /"})
    turns: list[Turn] = []

    async def untrusted(turn: Turn) -> ModelOutput:
        turns.append(turn)
        return proposal

    turn = Turn(messages=[], tools=[])
    assert anyio.run(null_blue_team().generate, turn, untrusted) is proposal
    assert turns == [turn]
