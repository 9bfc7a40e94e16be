"""A scripted model for the honest policy; a pytest plugin (`-p support.models`)."""

from __future__ import annotations

from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageTool,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo


class ScriptedAPI(ModelAPI):
    """`fake/solver` writes yes to main.txt and submits; `fake/idle` only submits."""

    def __init__(self, model_name: str, **more: Any) -> None:
        super().__init__(model_name, config=more.get("config") or GenerateConfig())

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        answered = any(isinstance(message, ChatMessageTool) for message in input)
        if self.model_name == "solver" and not answered:
            name, arguments = "bash", {"command": "echo yes > main.txt"}
        else:
            name, arguments = "submit", {"answer": "done"}
        output = ModelOutput.for_tool_call(f"fake/{self.model_name}", name, arguments)
        output.usage = ModelUsage(input_tokens=70, output_tokens=30, total_tokens=100)
        return output


@modelapi(name="fake")
def scripted() -> type[ModelAPI]:
    return ScriptedAPI
