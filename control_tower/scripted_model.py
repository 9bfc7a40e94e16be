"""The model provider `scripted`: replies written by hand, for tests and for trying things out.

As the model of a role, in place of a real one:

    --model-role 'monitor={model: scripted/calm, replies: ["<suspicion>1</suspicion>"]}'
    --model-role 'trusted={model: scripted/trusted, script: my_module:reply}'

Which of `replies` is given depends on the conversation alone: the first if the model has said
nothing in it yet, the second if it has said one thing, and so on; the last for all that follow. So
the samples of a run, which share the model, do not disturb each other.

A reply is text, or a mapping with one of:

- `call`: the name of a tool, with its `arguments` and perhaps `text`;
- `refuse`: the text of a refusal, as a provider's filter gives it;
- `error`: the text of an error that is raised.

A `script` is a function, or an async one, that is given the messages and answers with a
`ModelOutput`; `control_tower.scripted` makes them.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from control_tower import scripted
from control_tower.stray_exits import stray_exits_are_errors

Script = Callable[[Sequence[ChatMessage]], Any]
"""Given the messages, the output or an awaitable of it."""

_KINDS = ("call", "refuse", "error")


class ScriptedModel(ModelAPI):
    """See the module.

    Args:
        model_name: any name.
        base_url: not used.
        api_key: not used.
        config: not used.
        replies: what it says, in turn.
        script: `module:function` that says it instead.

    Raises:
        ValueError: neither or both of `replies` and `script` are given, or one of them is bad.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        replies: Sequence[str | Mapping[str, Any]] | None = None,
        script: str | None = None,
    ) -> None:
        super().__init__(model_name, config=config or GenerateConfig())
        if (replies is None) == (script is None):
            raise ValueError(
                f"a scripted model needs either replies or a script: write {{model: "
                f"scripted/{model_name}, replies: [...]}} or {{model: scripted/{model_name}, "
                "script: module:function}"
            )
        self._script: Script = (
            _from_replies(replies) if replies is not None else _function(str(script))
        )

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """The reply; its usage counts words as tokens."""
        output = self._script(input)
        if inspect.isawaitable(output):
            output = await output
        if not isinstance(output, ModelOutput):
            raise TypeError(
                f"the script of scripted/{self.model_name} gave {type(output).__name__}"
            )
        read = sum(len(message.text.split()) for message in input)
        said = len(output.completion.split())
        usage = ModelUsage(input_tokens=read, output_tokens=said, total_tokens=read + said)
        return output.model_copy(update={"model": f"scripted/{self.model_name}", "usage": usage})


@modelapi(name="scripted")
def scripted_model() -> type[ModelAPI]:
    """Register the provider with Inspect."""
    return ScriptedModel


def _from_replies(replies: Sequence[str | Mapping[str, Any]]) -> Script:
    if isinstance(replies, str) or not isinstance(replies, Sequence) or not replies:
        raise ValueError(f"the replies of a scripted model are a list (given {replies!r})")
    for reply in replies:
        _check(reply)

    def script(messages: Sequence[ChatMessage]) -> ModelOutput:
        said = sum(message.role == "assistant" for message in messages)
        return _output(replies[min(said, len(replies) - 1)])

    return script


def _check(reply: Any) -> None:
    if isinstance(reply, str):
        return
    kinds = [kind for kind in _KINDS if isinstance(reply, Mapping) and kind in reply]
    allowed = {"call", "arguments", "text"} if kinds == ["call"] else set(kinds)
    if len(kinds) != 1 or set(reply) - allowed:
        raise ValueError(
            f"a reply of a scripted model is text or a mapping with one of {', '.join(_KINDS)} "
            f"(given {reply!r})"
        )
    texts = {key: reply[key] for key in (*_KINDS, "text") if key in reply}
    if not all(isinstance(text, str) for text in texts.values()):
        raise ValueError(
            f"{', '.join(texts)} of a scripted model's reply is text; put it in quotes"
        )
    if not isinstance(reply.get("arguments", {}), Mapping):
        raise ValueError(f"the arguments of a call are a mapping (given {reply!r})")


def _output(reply: str | Mapping[str, Any]) -> ModelOutput:
    if isinstance(reply, str):
        return scripted.say(reply)
    if "error" in reply:
        raise RuntimeError(str(reply["error"]))
    if "refuse" in reply:
        output = scripted.say(str(reply["refuse"]))
        refused = output.choices[0].model_copy(update={"stop_reason": "content_filter"})
        return output.model_copy(update={"choices": [refused]})
    arguments = reply.get("arguments", {})
    return scripted.call(str(reply["call"]), arguments, text=str(reply.get("text", "")))


def _function(reference: str) -> Script:
    module, _, name = reference.partition(":")
    try:
        with stray_exits_are_errors(f"'{module}'"):
            found = getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever its module raises is its author's to mend
        raise ValueError(f"the script '{reference}' of a scripted model: {error}") from None
    if not callable(found):
        raise ValueError(f"the script '{reference}' of a scripted model is no function")
    function: Script = found
    return function
