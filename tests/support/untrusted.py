"""A scripted model in the role `untrusted`, and what it is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    get_model,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from control_tower import scripted
from support.roles import bound_roles

T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """What the model is sent for one reply."""

    messages: Sequence[ChatMessage]
    tools: Sequence[ToolInfo]
    tool_choice: ToolChoice
    config: GenerateConfig

    @property
    def told(self) -> list[tuple[str, str]]:
        """Role and text of each message."""
        return [(message.role, message.text) for message in self.messages]


class UntrustedRole:
    """Gives `replies` in turn; `requests` has what it was asked."""

    def __init__(self, *replies: ModelOutput) -> None:
        self._replies = list(replies)
        self.requests: list[Request] = []

    def run(self, main: Callable[[], Awaitable[T]]) -> T:
        """Run `main` with this model in the role."""
        model = get_model("mockllm/model", custom_outputs=self._reply, memoize=False)
        with bound_roles(untrusted=model):
            return anyio.run(main)

    def _reply(self, messages: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        self.requests.append(Request(messages, tools, tool_choice, config))
        return self._replies.pop(0)


class _NamesItself(ModelAPI):
    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        return scripted.say(f"I am {self.model_name}.")


@modelapi(name="names_itself")
def names_itself() -> type[ModelAPI]:
    """`names_itself/NAME` says its name."""
    return _NamesItself
