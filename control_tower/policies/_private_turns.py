"""What a model wrote in its own turns that nobody else sees.

The conversation that comes back to a policy has only what left it. A model that is shown turns
without their markers soon leaves them out, and some providers refuse reasoning that was changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspect_ai.model import ChatMessage, ChatMessageUser, ModelOutput


@dataclass(frozen=True)
class _Private:
    whole: Any
    """The content as the model wrote it."""
    left: Any
    """The content as it left the policy."""
    plan: ChatMessageUser | None


class PrivateTurns:
    """One sample's memory of the turns that left the policy, by the ids of their messages."""

    def __init__(self) -> None:
        self._turns: dict[str, _Private] = {}

    def keep(
        self, whole: ModelOutput, left: ModelOutput, plan: ChatMessageUser | None
    ) -> ModelOutput:
        """Remember a turn; returns what is to leave the policy, with an id that no other has.

        Args:
            whole: the turn as the model wrote it.
            left: the turn as it is to leave the policy.
            plan: the message with the turn's plan.
        """
        if left.empty:
            return left
        message = left.message
        if message.id is None or message.id in self._turns:
            message = message.model_copy(update={"id": uuid4().hex})
            first = left.choices[0].model_copy(update={"message": message})
            left = left.model_copy(update={"choices": [first, *left.choices[1:]]})
        self._turns[str(message.id)] = _Private(whole.message.content, message.content, plan)
        return left

    def recalled(self, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
        """The conversation as the model knows it: with markers, and each plan before its turn.

        Turns that were changed on their way are left as they are. A turn that is not in the
        conversation, since it was not carried out, has its plan left out as well.
        """
        recalled: list[ChatMessage] = []
        for message in messages:
            private = self._turns.get(message.id or "")
            if private is None:
                recalled.append(message)
                continue
            if private.plan is not None:
                recalled.append(private.plan)
            recalled.append(_whole(message, private))
        return recalled


def _whole(message: ChatMessage, private: _Private) -> ChatMessage:
    if private.whole == private.left or message.content != private.left:
        return message
    own = {"content": private.whole, "id": f"{message.id}-whole"}
    return message.model_copy(update=own)
