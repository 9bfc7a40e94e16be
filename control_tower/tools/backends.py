"""Tool backends: what executes a tool call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspect_ai.model import ChatMessageTool, execute_tools

from control_tower.contracts import ToolBackend
from control_tower.sandboxes.isolation import agents_own
from control_tower.tools.definitions import definition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspect_ai.model import ChatMessageAssistant
    from inspect_ai.tool import Tool


class SandboxedBackend(ToolBackend):
    """Executes calls for real, with Inspect's own tool execution.

    Malformed arguments, unknown tools and errors that tools raise for the agent become error
    answers. Output is not truncated here: that is the harness's. An error that is not the agent's
    (a sandbox that is gone, a fault in a tool) is raised and ends the sample.

    What tools run and write in the sandbox is the agent's own: isolation confines it.
    """

    async def execute(
        self, message: ChatMessageAssistant, tools: Sequence[Tool]
    ) -> list[ChatMessageTool]:
        """Answer every call of `message`, in call order; a bad call gets an error answer."""
        definitions = [definition(tool) for tool in tools]
        with agents_own():
            result = await execute_tools([message], definitions, max_output=0)
        return [answer for answer in result.messages if isinstance(answer, ChatMessageTool)]
