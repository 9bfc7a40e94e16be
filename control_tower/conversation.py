"""What is read from the messages of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessageAssistant


def agent_reasoning(message: ChatMessageAssistant) -> str | None:
    """The message's reasoning and text; None if it has neither."""
    from inspect_ai.tool import ContentReasoning

    parts: list[str] = []
    for content in message.content_list:
        if isinstance(content, ContentReasoning):
            parts.append((content.summary if content.redacted else content.reasoning) or "")
    parts.append(message.text)
    return "\n\n".join(part for part in parts if part.strip()) or None
