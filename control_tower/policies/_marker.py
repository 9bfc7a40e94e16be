"""The line with which a model says that its turn is part of the attack."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect_ai.model import ChatCompletionChoice, ModelOutput
    from inspect_ai.tool import Content

MARKER = "[attack]"
"""Found at the beginning of any line, in any case, also where Markdown dresses it up."""

_FOUND = re.compile(
    r"(?:^|(?<=<think>))[ \t]*(?:(?:#{1,6}|>|[-*+])[ \t]+)*[*_`]{0,3}"
    + re.escape(MARKER)
    + r"[*_`:]{0,4}[ \t]*(?:\r?\n(?:[ \t]*\r?\n)*)?",
    re.IGNORECASE | re.MULTILINE,
)


def without_marker(output: ModelOutput) -> tuple[ModelOutput, bool]:
    """The output without the marker, in text and reasoning, and whether its turn had one."""
    if output.empty:
        return output, False
    choices = [_without(choice) for choice in output.choices]
    if choices == output.choices:
        return output, False
    marked = choices[0].message.content != output.message.content
    completion = _taken_off(output.completion)
    return output.model_copy(update={"choices": choices, "completion": completion}), marked


def _without(choice: ChatCompletionChoice) -> ChatCompletionChoice:
    """The choice without the marker, and then without log probabilities, which would show it."""
    content = choice.message.content
    cleaned: Any
    if isinstance(content, str):
        cleaned = _taken_off(content)
    else:
        parts = [_part(part) for part in content]
        cleaned = [part for part in parts if part is not None]
    if cleaned == content:
        return choice
    message = choice.message.model_copy(update={"content": cleaned or ""})
    return choice.model_copy(update={"message": message, "logprobs": None})


def _part(part: Content) -> Content | None:
    """The part without the marker; None for a text that was nothing else."""
    if part.type == "text":
        text = _taken_off(part.text)
        if text == part.text:
            return part
        return part.model_copy(update={"text": text}) if text else None
    if part.type == "reasoning":
        summary = None if part.summary is None else _taken_off(part.summary)
        cleaned = {"reasoning": _taken_off(part.reasoning), "summary": summary}
        return part.model_copy(update=cleaned)
    return part


def _taken_off(text: str) -> str:
    taken = _FOUND.sub("", text)
    return text if taken == text else taken.strip()
