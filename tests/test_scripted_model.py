"""The model provider `scripted`."""

from __future__ import annotations

from typing import Any

import pytest
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, get_model


def model(**args: Any) -> Any:
    return get_model("scripted/test", memoize=False, **args)


ASKED = ChatMessageUser(content="one two three")


@pytest.mark.anyio
async def test_which_reply_is_given_depends_on_the_conversation_alone() -> None:
    made = model(replies=["first", "second"])
    said = ChatMessageAssistant(content="x")
    for _ in range(2):
        assert (await made.generate([ASKED])).completion == "first"
        assert (await made.generate([ASKED, said])).completion == "second"
        assert (await made.generate([ASKED, said, said, said])).completion == "second"


@pytest.mark.anyio
async def test_words_are_counted_as_tokens() -> None:
    output = await model(replies=["four five"]).generate([ASKED])
    assert output.usage is not None
    used = output.usage
    assert (used.input_tokens, used.output_tokens, used.total_tokens) == (3, 2, 5)
    assert output.model == "scripted/test"


@pytest.mark.anyio
async def test_a_call_a_refusal_and_an_error() -> None:
    call = {"call": "bash", "arguments": {"command": "ls"}, "text": "go"}
    [made] = (await model(replies=[call]).generate([ASKED])).message.tool_calls
    assert (made.function, made.arguments) == ("bash", {"command": "ls"})
    refused = await model(replies=[{"refuse": "I will not."}]).generate([ASKED])
    assert (refused.stop_reason, refused.completion) == ("content_filter", "I will not.")
    with pytest.raises(RuntimeError, match="out of order"):
        await model(replies=[{"error": "out of order"}]).generate([ASKED])


@pytest.mark.anyio
async def test_a_script_may_be_async() -> None:
    plain = model(script="support.scripts:from_messages")
    assert (await plain.generate([ASKED])).completion == "heard 1"
    slow = await model(script="support.scripts:later").generate([ASKED])
    assert slow.message.tool_calls[0].function == "bash"
    with pytest.raises(TypeError, match="script of scripted/test gave NoneType"):
        await model(script="support.scripts:nothing").generate([ASKED])


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({}, "either replies or a script"),
        ({"replies": ["a"], "script": "a:b"}, "either replies or a script"),
        ({"replies": []}, "are a list"),
        ({"replies": "yes"}, "are a list"),
        ({"replies": [{"say": "x"}]}, "one of call, refuse, error"),
        ({"replies": [{"call": "bash", "error": "x"}]}, "one of call, refuse, error"),
        ({"replies": [{"call": "bash", "argument": {}}]}, "one of call, refuse, error"),
        ({"replies": [{"call": "bash", "arguments": "ls"}]}, "are a mapping"),
        ({"replies": [{"refuse": False}]}, "refuse of a scripted model's reply is text"),
        ({"replies": [{"call": "bash", "text": 3}]}, "is text; put it in quotes"),
        ({"script": "nowhere_to_be_found:x"}, "nowhere_to_be_found"),
        ({"script": "support.scripts:missing"}, "missing"),
        ({"script": "support.scripts:NO_FUNCTION"}, "no function"),
        ({"script": "noattribute"}, "noattribute"),
    ],
)
def test_bad_arguments_are_named(args: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        model(**args)
