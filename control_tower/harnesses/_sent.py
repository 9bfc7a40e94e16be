"""The conversation as it is sent: the full one, less old tool outputs that no longer fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspect_ai.model import ChatMessage

DROPPED = "[This output was dropped to make room; run the call again if you need it.]"
"""What stands in place of a dropped tool output."""


class SentMessages:
    """Remembers which tool outputs of a growing conversation are no longer sent."""

    def __init__(self) -> None:
        self._dropped: set[int] = set()

    def of(self, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
        """A new list of the messages to send; `messages` itself stays whole."""
        return [
            message.model_copy(update={"content": DROPPED, "error": None})
            if index in self._dropped
            else message
            for index, message in enumerate(messages)
        ]

    def drop_oldest(self, messages: Sequence[ChatMessage]) -> int:
        """Drop the older half (by characters) of the tool outputs that are still sent.

        Returns:
            How many outputs were dropped: at least one, or 0 if there is none to drop.
        """
        sizes = {
            index: size
            for index, message in enumerate(messages)
            if index not in self._dropped and (size := _output_size(message)) > len(DROPPED)
        }
        dropped, left = 0, sum(sizes.values()) / 2
        for index, size in sizes.items():
            if left <= 0:
                break
            self._dropped.add(index)
            left -= size
            dropped += 1
        return dropped


def _output_size(message: ChatMessage) -> int:
    if message.role != "tool":
        return 0
    return len(message.error.message if message.error else message.text)
