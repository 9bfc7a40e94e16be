"""Actions from a conversation: of samples that are not of our runs, all there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from control_tower.trajectories.schema import Action

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage


def actions_of(messages: Sequence[ChatMessage]) -> list[Action]:
    """The tool calls of a conversation with their answers; a turn is a message."""
    answers = {m.tool_call_id: m for m in messages if m.role == "tool"}
    actions: list[Action] = []
    turn = 0
    for message in messages:
        if message.role != "assistant":
            continue
        for call in message.tool_calls or []:
            answer = answers.get(call.id)
            error = answer.error.message if answer is not None and answer.error else None
            actions.append(
                Action(
                    index=len(actions),
                    turn=turn,
                    function=call.function,
                    arguments=call.arguments,
                    output=answer.text if answer is not None else "",
                    output_error=error if answer is not None else "The call was not answered.",
                    agent_reasoning=message.text or None,
                )
            )
        turn += 1
    return actions
