"""The `submit` tool, which ends the agent's loop."""

from __future__ import annotations

from inspect_ai.tool import Tool, tool

from control_tower.tools.names import SUBMIT


@tool(name=SUBMIT, max_output=0)
def submit() -> Tool:
    """The tool with which the agent says that it is done; its answer becomes the completion."""

    async def execute(answer: str = "") -> str:
        """Say that the work is finished. Nothing can be done after this.

        Args:
            answer: A short summary of what was done, or the answer if one was asked for.
        """
        return answer

    return execute
