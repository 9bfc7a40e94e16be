"""Assistant turns written by hand, for policies that call no model.

A scripted policy returns these from `generate`, one a turn:

    async def generate(self, turn: Turn) -> ModelOutput:
        self._turns += 1
        if self._turns == 1:
            return scripted.call("bash", {"command": "make test"}, text="First, the tests.")
        return scripted.submit("done")

Every turn states a usage of zero tokens, so nothing is estimated with a tokenizer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inspect_ai.model import ModelOutput

DEFAULT_MODEL = "scripted/policy"
"""Model name that scripted turns carry unless told otherwise."""


def say(text: str, *, model: str = DEFAULT_MODEL) -> ModelOutput:
    """A reply of `text` without a tool call."""
    return _output(text, [], model=model)


def call(
    function: str,
    arguments: Mapping[str, Any],
    *,
    text: str = "",
    model: str = DEFAULT_MODEL,
) -> ModelOutput:
    """A reply that calls the tool `function` once, saying `text` beside it."""
    return _output(text, [(function, arguments)], model=model)


def calls(
    *requests: tuple[str, Mapping[str, Any]], text: str = "", model: str = DEFAULT_MODEL
) -> ModelOutput:
    """A reply that makes several tool calls, each a `(function, arguments)` pair, in order."""
    return _output(text, requests, model=model)


def submit(answer: str = "", *, text: str = "", model: str = DEFAULT_MODEL) -> ModelOutput:
    """A reply that submits `answer`, which ends the agent's loop."""
    return _output(text, [("submit", {"answer": answer})], model=model)


def _output(
    text: str, requests: Iterable[tuple[str, Mapping[str, Any]]], *, model: str
) -> ModelOutput:
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        ModelOutput,
        ModelUsage,
    )
    from inspect_ai.tool import ToolCall

    tool_calls = [
        ToolCall(id=f"call_{uuid4().hex}", function=function, arguments=dict(arguments))
        for function, arguments in requests
    ]
    message = ChatMessageAssistant(
        content=text, tool_calls=tool_calls or None, model=model, source="generate"
    )
    choice = ChatCompletionChoice(
        message=message, stop_reason="tool_calls" if tool_calls else "stop"
    )
    return ModelOutput(model=model, choices=[choice], usage=ModelUsage())
