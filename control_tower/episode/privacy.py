"""What blue sees of a conversation in which the red team has tools of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, ChatMessageAssistant, ModelOutput

    from control_tower.trajectories.schema import Action


class PublicView:
    """A conversation without the calls of private tools, and the way back to the whole one.

    A message that calls private tools only is left out with its text, which is about them.

    Args:
        messages: the whole conversation.
        private: names of the private tools.
    """

    def __init__(self, messages: Sequence[ChatMessage], private: frozenset[str]) -> None:
        self.messages: list[ChatMessage] = []
        self._whole: dict[str | None, tuple[ChatMessage, ChatMessage]] = {}
        """By id: the message as blue sees it, and as it is."""
        self._hidden: dict[str | None, list[ChatMessage]] = {}
        """By the id of the message before them, None at the beginning."""
        last: str | None = None
        for message in messages:
            visible = _visible(message, private)
            if visible is None:
                self._hidden.setdefault(last, []).append(message)
                continue
            visible = visible.model_copy(deep=True)
            self.messages.append(visible)
            self._whole[visible.id] = (visible.model_copy(deep=True), message)
            last = visible.id

    def whole(self, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
        """The conversation that the policy is to see when blue asks with `messages`.

        What blue left as it was is as the policy knows it, with the hidden messages in their
        places; what blue added or changed stays so.
        """
        found = list(self._hidden.get(None, ()))
        for message in messages:
            seen, original = self._whole.get(message.id, (None, message))
            found.append(original if message == seen else message)
            found += self._hidden.get(message.id, ()) if seen is not None else ()
        return [message.model_copy(deep=True) for message in found]


def public_output(output: ModelOutput, private: frozenset[str]) -> ModelOutput:
    """The proposal as blue sees it: without private calls, and without text if it has only such."""
    if output.empty or not private:
        return output
    visible = _visible(output.message, private)
    message = output.message
    if visible is None:
        visible = message.model_copy(update={"content": "", "tool_calls": None})
    first = output.choices[0].model_copy(update={"message": visible})
    return output.model_copy(update={"choices": [first], "completion": visible.text})


class PublicHistory(Sequence["Action"]):
    """A view of the executed actions, without those of private tools; the items are copies.

    Args:
        actions: the list that grows during the run.
        private: names of the private tools.
    """

    def __init__(self, actions: Sequence[Action], private: frozenset[str]) -> None:
        self._actions = actions
        self._private = private

    def __len__(self) -> int:
        return len(self._public())

    @overload
    def __getitem__(self, index: int) -> Action: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Action]: ...
    def __getitem__(self, index: int | slice) -> Action | Sequence[Action]:
        if isinstance(index, slice):
            return [action.model_copy(deep=True) for action in self._public()[index]]
        return self._public()[index].model_copy(deep=True)

    def __iter__(self) -> Iterator[Action]:
        return (action.model_copy(deep=True) for action in self._public())

    def _public(self) -> Sequence[Action]:
        if not self._private:
            return self._actions
        return [action for action in self._actions if action.function not in self._private]


def _visible(message: ChatMessage, private: frozenset[str]) -> ChatMessage | None:
    if message.role == "tool":
        return None if message.function in private else message
    if message.role != "assistant" or not message.tool_calls:
        return message
    return _without_private_calls(message, private)


def _without_private_calls(
    message: ChatMessageAssistant, private: frozenset[str]
) -> ChatMessageAssistant | None:
    calls = message.tool_calls or []
    public = [call for call in calls if call.function not in private]
    if len(public) == len(calls):
        return message
    return message.model_copy(update={"tool_calls": public}) if public else None
