"""The `honest` policy: a model does the task it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from control_tower.components import policy
from control_tower.contracts import Policy, Turn

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
    """
    return HonestPolicy(model=model, temperature=temperature, max_tokens=max_tokens)


class HonestPolicy(Policy):
    """See `honest`."""

    def __init__(
        self, *, model: str | None, temperature: float | None, max_tokens: int | None
    ) -> None:
        self.model = model
        self.temperature = temperature
        self.max_tokens = max_tokens

    async def generate(self, turn: Turn) -> ModelOutput:
        """The model's reply. A role that is bound comes first, then `model`, then Inspect's own."""
        from inspect_ai.model import GenerateConfig, get_model

        own = GenerateConfig(temperature=self.temperature, max_tokens=self.max_tokens)
        return await get_model(role="untrusted", default=self.model).generate(
            list(turn.messages),
            tools=list(turn.tools),
            tool_choice=turn.tool_choice,
            config=(turn.config or GenerateConfig()).merge(own),
        )
