"""The tool backend that answers from a recording: nothing is executed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from control_tower.contracts import ToolBackend
from control_tower.tools.names import SUBMIT

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool
    from inspect_ai.tool import Tool, ToolCall

    from control_tower.trajectories.schema import Action

_SHOWN = 400
"""Characters of a call that the error shows."""


class ReplayDivergence(RuntimeError):
    """A call is not the recorded one, so the recording has no answer to it."""


class ReplayedBackend(ToolBackend):
    """Answers each call with what the recording says, after checking that it is the recorded one.

    A submission is executed wherever it comes, since it only ends the agent's loop.

    Args:
        actions: the recording's.
    """

    def __init__(self, actions: Sequence[Action]) -> None:
        self._actions = actions
        self._next = 0

    async def execute(
        self, message: ChatMessageAssistant, tools: Sequence[Tool]
    ) -> list[ChatMessageTool]:
        """Answer every call of `message`, in call order, from the recording.

        Raises:
            ReplayDivergence: for a call that is not the recorded one; names the step (counted from
                0, as in the trajectory), what was recorded and what was asked.
        """
        return [self._answer(call) for call in message.tool_calls or []]

    def _answer(self, call: ToolCall) -> ChatMessageTool:
        from inspect_ai.model import ChatMessageTool
        from inspect_ai.tool import ToolCallError

        step, recorded = self._next, self._recorded()
        if recorded is None or not is_call(recorded, call.function, call.arguments):
            if call.function == SUBMIT and call.parse_error is None:
                answer = str(call.arguments.get("answer") or "")
                return ChatMessageTool(content=answer, tool_call_id=call.id, function=SUBMIT)
            raise ReplayDivergence(_difference(step, recorded, call))
        self._next += 1
        error = recorded.output_error
        return ChatMessageTool(
            content=recorded.output,
            tool_call_id=call.id,
            function=call.function,
            error=None if error is None else ToolCallError("unknown", error),
        )

    def _recorded(self) -> Action | None:
        return self._actions[self._next] if self._next < len(self._actions) else None


def is_call(action: Action, function: str, arguments: Mapping[str, Any]) -> bool:
    """Whether an action is a call of that tool with those arguments, as JSON has them."""
    return action.function == function and _json(action.arguments) == _json(arguments)


def _json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, sort_keys=True, default=str)


def _difference(step: int, recorded: Action | None, call: ToolCall) -> str:
    asked = _spoken(call.function, call.arguments)
    if recorded is None:
        return (
            f"step {step}: the recording ends before it, and {asked} was asked; it has no answer "
            "to that"
        )
    was = _spoken(recorded.function, recorded.arguments)
    if was == asked:  # they part behind what is shown
        asked += " (they differ further on)"
    return f"step {step}: {was} was recorded, and {asked} was asked; the recording has no answer"


def _spoken(function: str, arguments: Mapping[str, Any]) -> str:
    text = _json(arguments)
    return f"{function} {text if len(text) <= _SHOWN else text[:_SHOWN] + ' …'}"
