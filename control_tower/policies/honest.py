"""The `honest` policy: a model does the task it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from control_tower.components import policy
from control_tower.contracts import Policy, Turn
from control_tower.policies._model_policy import UntrustedModel

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput


@policy(modes=["honest"], asserts="main-task-solved", roles=["untrusted"])
def honest(
    model: str | None = None, temperature: float | None = None, max_tokens: int | None = None
) -> Policy:
    """A model drives the agent, without a harmful goal.

    Args:
        model: name of the model, such as `openai/gpt-4o`. The run binds it to Inspect's role
            `untrusted` before it starts; without it, the role as bound, or Inspect's own model.
        temperature: sampling temperature; the provider's default if not given.
        max_tokens: most tokens in one reply; the provider's default if not given.

    Raises:
        ValueError: if a number is out of range.
    """
    return HonestPolicy(UntrustedModel(model, temperature, max_tokens))


class HonestPolicy(Policy):
    """See `honest`."""

    def __init__(self, model: UntrustedModel) -> None:
        self._model = model

    async def generate(self, turn: Turn) -> ModelOutput:
        """The model's reply to the turn as it stands."""
        return await self._model.reply(turn)
