"""A scripted model whose arguments are read as a provider reads them, some of them bad."""

from __future__ import annotations

from typing import Any

from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput
from inspect_ai.model._call_tools import parse_tool_call  # what providers read arguments with
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams
from inspect_ai.util import JSONSchema

from control_tower import scripted

BASH = ToolInfo(
    name="bash",
    description="Runs a command.",
    parameters=ToolParams(
        properties={"command": JSONSchema(type="string"), "timeout": JSONSchema(type="integer")},
        required=["command"],
    ),
)


def bomb(levels: int) -> str:
    """YAML that doubles with each level."""
    aliases = [f"&a{level} [*a{level - 1},*a{level - 1}]" for level in range(1, levels)]
    return f"[{','.join(['&a0 [x,x]', *aliases])}]"


NO_JSON = ["!!binary /w==", "2020-01-01", "!!set {a, b}", bomb(60), f"0x{'f' * 6_000}", ".inf"]
"""Arguments that YAML makes something else of than JSON could hold, or far too much."""
BAD_NUMBERS = [f'{{"command": "id", "timeout": {number}}}' for number in ("9" * 5_000, "NaN")]
"""Arguments whose numbers cannot be kept."""


def parsed(arguments: str) -> ToolCall:
    """A call of `bash` as a provider makes it of the arguments' text."""
    return parse_tool_call("1", "bash", arguments, [BASH])


def worker(messages: Any) -> ModelOutput:
    """Solves the task and submits; in task `bad`, after a call with each of the bad arguments."""
    said = sum(message.role == "assistant" for message in messages)
    bad = [*NO_JSON, *BAD_NUMBERS] if any("Do bad." in m.text for m in messages) else []
    calls = [*bad, '{"command": "echo yes > main.txt"}']
    if said >= len(calls):
        return scripted.submit("done")
    message = ChatMessageAssistant(content="", tool_calls=[parsed(calls[said])])
    choice = ChatCompletionChoice(message=message, stop_reason="tool_calls")
    return ModelOutput(model="scripted", choices=[choice])
