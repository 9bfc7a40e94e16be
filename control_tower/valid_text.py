"""Replies that cannot be kept: their text cannot be encoded, or a call's arguments are no JSON.

A model may write `\\ud800` in its arguments, which JSON turns into half a character. Once such a
message is sent again, Inspect cannot hash it for its log, and that ends the whole eval, not the
sample. So no such text may enter a conversation. Nor may arguments that are not JSON, or so deep or
large that copying, comparing or writing them fails or takes for ever.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from control_tower.fit_arguments import unfit

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput
    from inspect_ai.tool import ToolCall

_PROBLEM = "The arguments hold half of a character (a lone surrogate), which is not valid Unicode."


def encodable(output: ModelOutput) -> ModelOutput:
    """The output with every text valid Unicode; itself, if it is so already.

    Split characters are joined. A lone half is replaced with U+FFFD, and a call whose arguments
    held one is marked malformed, since it is not what the model asked for. So is a call whose
    arguments are `unfit`; they are emptied.
    """
    if output.empty:
        return output
    message = output.message
    calls = [_call(call) for call in message.tool_calls or []]
    content: Any = message.content
    if isinstance(content, str):
        content = _joined(content)
    else:
        content = [
            part.model_copy(update={name: _joined(value) for name, value in part})
            for part in content
        ]
    if calls == (message.tool_calls or []) and content == message.content:
        return output
    fixed = message.model_copy(update={"content": content, "tool_calls": calls or None})
    first = output.choices[0].model_copy(update={"message": fixed})
    return output.model_copy(
        update={
            "choices": [first, *output.choices[1:]],
            "completion": _joined(output.completion),
        }
    )


def _call(call: ToolCall) -> ToolCall:
    if (wrong := unfit(call.arguments)) is not None:
        told = call.parse_error or f"The arguments hold {wrong}."
        call = replace(call, arguments={}, parse_error=told)
    arguments = _joined(call.arguments)
    problem = call.parse_error
    if problem is not None:
        problem = _joined(problem)
    elif _marks(arguments) > _marks(call.arguments):
        problem = _PROBLEM
    return replace(call, function=_joined(call.function), arguments=arguments, parse_error=problem)


def _joined(value: Any) -> Any:
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_joined(key): _joined(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_joined(item) for item in value]
    if isinstance(value, tuple):
        return tuple(map(_joined, value))
    return value


def _marks(value: Any) -> int:
    if isinstance(value, str):
        return value.count("\ufffd")
    if isinstance(value, dict):
        return sum(_marks(key) + _marks(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return sum(map(_marks, value))
    return 0
