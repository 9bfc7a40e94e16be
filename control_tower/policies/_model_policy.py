"""What policies that ask a model have in common: which model, and how it is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

    from control_tower.contracts import Turn

ROLE = "untrusted"
"""The model role that untrusted policies ask."""


@dataclass(frozen=True)
class UntrustedModel:
    """The untrusted model with a policy's own settings.

    Raises:
        ValueError: the temperature is no number from 0 up, or not even one token is allowed.
    """

    model: str | None = None
    """Name of the model if the role is not bound; None: Inspect's own."""
    temperature: float | None = None
    """Goes before the turn's own; so does `max_tokens`."""
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.temperature is not None and not 0 <= self.temperature < math.inf:
            raise ValueError(f"temperature must be 0 or more (given {self.temperature})")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError(f"max_tokens must be 1 or more (given {self.max_tokens})")

    async def reply(self, turn: Turn) -> ModelOutput:
        """The model's reply. A role that is bound comes first, then `model`, then Inspect's own."""
        from inspect_ai.model import GenerateConfig, get_model

        own = GenerateConfig(temperature=self.temperature, max_tokens=self.max_tokens)
        return await get_model(role=ROLE, default=self.model).generate(
            list(turn.messages),
            tools=list(turn.tools),
            tool_choice=turn.tool_choice,
            config=(turn.config or GenerateConfig()).merge(own),
        )
