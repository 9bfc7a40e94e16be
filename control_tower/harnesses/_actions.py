"""What the null harness keeps of a tool call: the action, and the answer the agent sees."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from control_tower.conversation import agent_reasoning

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool
    from inspect_ai.tool import ToolCall

    from control_tower.contracts import HarnessSession


class ActionRecorder:
    """Numbers a sample's actions and hands them to the session's record."""

    def __init__(self, session: HarnessSession) -> None:
        self._record = session.record
        self._count = 0

    def answered(
        self, message: ChatMessageAssistant, call: ToolCall, answer: ChatMessageTool
    ) -> None:
        """Record a call that got `answer`, as the agent sees it."""
        error = answer.error.message if answer.error else None
        self._add(message, call, output=answer.text, error=error)

    def cut_off(self, message: ChatMessageAssistant, call: ToolCall, reason: BaseException) -> None:
        """Record a call that began and got no answer, since it may have had its effect."""
        spoken = f"{type(reason).__name__}: {reason}".rstrip(": ")
        self._add(message, call, output="", error=f"The call was cut off ({spoken}).")

    def _add(
        self, message: ChatMessageAssistant, call: ToolCall, *, output: str, error: str | None
    ) -> None:
        from control_tower.trajectories.schema import Action

        self._record(
            Action(
                index=self._count,
                function=call.function,
                arguments=call.arguments,
                output=output,
                output_error=error,
                agent_reasoning=agent_reasoning(message),
            )
        )
        self._count += 1


def shortened(answer: ChatMessageTool, max_characters: int) -> ChatMessageTool:
    """The answer with its text and its error each truncated to `max_characters` (0: not)."""
    from inspect_ai.tool import ContentText

    from control_tower.tools.truncate import truncate

    if isinstance(answer.content, str):
        content: object = truncate(answer.content, max_characters)
    else:
        content = [
            part.model_copy(update={"text": truncate(part.text, max_characters)})
            if isinstance(part, ContentText)
            else part
            for part in answer.content
        ]
    error = answer.error
    if error is not None:
        error = replace(error, message=truncate(error.message, max_characters))
    return answer.model_copy(update={"content": content, "error": error})


def refusal(call: ToolCall, reason: str) -> ChatMessageTool:
    """The error answer to a call that is not executed."""
    from inspect_ai.model import ChatMessageTool
    from inspect_ai.tool import ToolCallError

    return ChatMessageTool(
        content="",
        tool_call_id=call.id,
        function=call.function,
        error=ToolCallError("cancelled", f"Not executed: {reason}"),
    )
