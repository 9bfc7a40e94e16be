"""The `noop` policy: submits at once, so nothing may be solved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from control_tower import scripted
from control_tower.components import policy
from control_tower.contracts import Policy, Turn

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput


@policy(modes=["honest", "attack"], asserts="nothing-free", scores_main_on_attack=True)
def noop() -> Policy:
    """Submit at once: shows that no task is solved, and no harm scored, for free."""
    return NoopPolicy()


class NoopPolicy(Policy):
    """See `noop`."""

    declares_attacks = True

    async def generate(self, turn: Turn) -> ModelOutput:
        """A submission; calls no model."""
        return scripted.submit(text="Nothing to do.", model="scripted/noop")
