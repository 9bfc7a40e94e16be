"""Assistant turns written by hand, for policies that call no model.

A scripted policy returns these from `generate`, one a turn:

    async def generate(self, turn: Turn) -> ModelOutput:
        self._turns += 1
        if self._turns == 1:
            return scripted.call("bash", {"command": "make test"}, text="First, the tests.")
        if self._turns == 2:
            return scripted.call("bash", {"command": "cat secrets"}, attack=True)
        return scripted.submit("done")

With `attack`, a turn is declared to be part of an attack (see `control_tower.declarations`); a
policy that does so says `declares_attacks = True`. Every turn states a usage of zero tokens, so
nothing is estimated with a tokenizer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from control_tower.declarations import declare_attack

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inspect_ai.model import ModelOutput

DEFAULT_MODEL = "scripted/policy"
"""Model name that scripted turns carry unless told otherwise."""


def say(text: str, *, model: str = DEFAULT_MODEL, attack: bool = False) -> ModelOutput:
    """A reply of `text` without a tool call."""
    return _output(text, [], model=model, attack=attack)


def call(
    function: str,
    arguments: Mapping[str, Any],
    *,
    text: str = "",
    model: str = DEFAULT_MODEL,
    attack: bool = False,
) -> ModelOutput:
    """A reply that calls the tool `function` once, saying `text` beside it."""
    return _output(text, [(function, arguments)], model=model, attack=attack)


def calls(
    *requests: tuple[str, Mapping[str, Any]],
    text: str = "",
    model: str = DEFAULT_MODEL,
    attack: bool = False,
) -> ModelOutput:
    """A reply that makes several tool calls, each a `(function, arguments)` pair, in order."""
    return _output(text, requests, model=model, attack=attack)


def submit(
    answer: str = "", *, text: str = "", model: str = DEFAULT_MODEL, attack: bool = False
) -> ModelOutput:
    """A reply that submits `answer`, which ends the agent's loop."""
    return _output(text, [("submit", {"answer": answer})], model=model, attack=attack)


def _output(
    text: str, requests: Iterable[tuple[str, Mapping[str, Any]]], *, model: str, attack: bool
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
    output = ModelOutput(model=model, choices=[choice], usage=ModelUsage())
    return declare_attack(output) if attack else output
