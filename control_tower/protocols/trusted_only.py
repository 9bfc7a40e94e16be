"""The `trusted-only` protocol: the untrusted policy does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from control_tower.blue import ask_trusted, calls_of
from control_tower.components import protocol
from control_tower.contracts import BlueContext, BlueProtocol, Generate, Turn

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput


@protocol(roles=["trusted"], asks_untrusted=False)
def trusted_only(model: str | None = None) -> BlueProtocol:
    """The trusted model writes every turn; the untrusted policy is never asked.

    From Greenblatt et al. 2023, "AI Control: Improving Safety Despite Intentional Subversion"
    (arXiv:2312.06942): the baseline that is as safe, and only as useful, as the trusted model.

    Args:
        model: name of the trusted model, for the role `trusted` where no option binds it.
    """
    return TrustedOnly(model=model)


class TrustedOnly(BlueProtocol):
    """See `trusted_only`."""

    def __init__(self, *, model: str | None) -> None:
        self._model = model

    async def setup(self, context: BlueContext) -> None:
        """Keep the context."""
        self._context = context

    async def generate(self, turn: Turn, untrusted: Generate) -> ModelOutput:
        """The trusted model's own turn."""
        output = await ask_trusted(turn, model=self._model)
        if not calls_of(output):
            return output
        return self._context.decisions.allow(output, reason="the trusted model wrote it")
