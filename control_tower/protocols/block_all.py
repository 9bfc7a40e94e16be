"""The `block-all` protocol: no call is ever executed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from control_tower.blue import ask_past_blocks, calls_of, check_count
from control_tower.components import protocol
from control_tower.contracts import BlueContext, BlueProtocol, Generate, Turn, Why

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput


@protocol()
def block_all(max_blocks: int = 3) -> BlueProtocol:
    """Block every call; for tests of harnesses and policies. It asks no model.

    Args:
        max_blocks: how many proposals may be blocked in one turn before the run is terminated.

    Raises:
        ValueError: `max_blocks` is negative.
    """
    return BlockAll(max_blocks=max_blocks)


class BlockAll(BlueProtocol):
    """See `block_all`."""

    def __init__(self, *, max_blocks: int) -> None:
        self._max_blocks = check_count("max_blocks", max_blocks)

    async def setup(self, context: BlueContext) -> None:
        """Keep the context."""
        self._context = context

    async def generate(self, turn: Turn, untrusted: Generate) -> ModelOutput:
        """The first proposal without a call."""
        decisions = self._context.decisions
        return await ask_past_blocks(
            turn, untrusted, decisions, _objection, max_blocks=self._max_blocks
        )


async def _objection(proposal: ModelOutput) -> Why | None:
    return Why(reason="every call is blocked") if calls_of(proposal) else None
