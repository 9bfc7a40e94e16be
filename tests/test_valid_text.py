"""Replies whose text or arguments cannot be kept as they are."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolCall

from control_tower import scripted
from control_tower.fit_arguments import DEEPEST, MOST_BITS, MOST_VALUES
from control_tower.valid_text import encodable

HALF = "\ud83d"
OTHER_HALF = "\ude00"


@pytest.mark.parametrize(
    "output",
    [
        ModelOutput(),
        scripted.say("Grüße 😀 \ufffd"),
        scripted.call("bash", {"command": "ls", "more": [1, None, {"é": (True, 2.5)}]}, text="é"),
    ],
)
def test_valid_output_is_returned_itself(output: ModelOutput) -> None:
    assert encodable(output) is output


def test_half_a_character_in_the_text_is_replaced() -> None:
    output = encodable(scripted.say(f"a{HALF}b"))
    assert (output.message.text, output.completion) == ("a\ufffdb", "a\ufffdb")


def test_a_split_character_is_joined_and_its_call_is_good() -> None:
    output = encodable(scripted.call("bash", {"command": f"echo {HALF}{OTHER_HALF}"}))
    [call] = output.message.tool_calls or []
    assert call.arguments == {"command": "echo 😀"}
    assert call.parse_error is None


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        ({"command": HALF}, {"command": "\ufffd"}),
        ({HALF: "ls"}, {"\ufffd": "ls"}),
        ({"command": ["ls", {"x": HALF}]}, {"command": ["ls", {"x": "\ufffd"}]}),
        ({"command": ("ls", HALF)}, {"command": ("ls", "\ufffd")}),
    ],
)
def test_a_call_with_half_a_character_is_malformed(
    arguments: dict[str, Any], left: dict[str, Any]
) -> None:
    [call] = encodable(scripted.call("bash", arguments)).message.tool_calls or []
    assert call.arguments == left
    assert "half of a character" in str(call.parse_error)


def test_every_part_of_the_message_is_mended() -> None:
    content = [ContentReasoning(reasoning=HALF, summary=HALF), ContentText(text=HALF)]
    call = ToolCall(id="1", function=f"ba{HALF}", arguments={}, parse_error=HALF)
    message = ChatMessageAssistant(content=content, tool_calls=[call])
    output = ModelOutput(choices=[ChatCompletionChoice(message=message)], usage=ModelUsage())
    text = encodable(output).model_dump_json()
    assert json.loads(text)["choices"][0]["message"]["tool_calls"][0]["function"] == "ba\ufffd"


def test_a_call_as_deep_as_allowed_is_good() -> None:
    output = scripted.call("bash", nested(DEEPEST))
    assert encodable(output) is output


@pytest.mark.parametrize("levels", [DEEPEST + 1, 100_000])
def test_a_call_nested_deeper_is_malformed_and_emptied(levels: int) -> None:
    output = scripted.calls(("bash", nested(levels)), ("edit", {"path": "a"}), text="Both.")
    mended = encodable(output)
    deep, flat = mended.message.tool_calls or []
    assert (deep.function, deep.arguments) == ("bash", {})
    assert "more than 100 levels deep" in str(deep.parse_error)
    assert (flat.arguments, flat.parse_error) == ({"path": "a"}, None)
    assert mended.message.text == "Both."
    mended.model_copy(deep=True).model_dump_json()


def doubling(levels: int) -> list[Any]:
    """As many lists, each of which holds the next one twice."""
    value: list[Any] = ["x", "x"]
    for _ in range(levels):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (b"\xff", "a value that JSON does not have (bytes)"),
        ({"a"}, "a value that JSON does not have (set)"),
        (date(2020, 1, 1), "a value that JSON does not have (date)"),
        (float("nan"), "a number that is not finite"),
        (float("-inf"), "a number that is not finite"),
        ({1: 2}, "a key that is not text"),
        ({None: 2}, "a key that is not text"),
        (2**MOST_BITS, "a number of more than 4096 bits"),
        (-(16**6_000), "a number of more than 4096 bits"),
        (doubling(18), "more than 100,000 values"),
        (doubling(60), "more than 100,000 values"),
        (["x"] * MOST_VALUES, "more than 100,000 values"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_call_whose_arguments_are_no_json_is_malformed_and_emptied(
    value: Any, problem: str
) -> None:
    output = scripted.calls(("bash", {"command": ["a", value]}), ("edit", {"path": "a"}))
    bad, good = encodable(output).message.tool_calls or []
    assert (bad.arguments, bad.parse_error) == ({}, f"The arguments hold {problem}.")
    assert (good.arguments, good.parse_error) == ({"path": "a"}, None)


def test_as_much_as_allowed_is_good() -> None:
    many = ["x"] * (MOST_VALUES - 2)
    output = scripted.call("bash", {"a": many})
    assert encodable(output) is output
    output = scripted.call("bash", {"a": 2**MOST_BITS - 1, "b": doubling(10)})
    assert encodable(output) is output


def test_arguments_that_hold_themselves_are_emptied() -> None:
    arguments: dict[str, Any] = {"command": "ls"}
    arguments["self"] = [arguments]
    [call] = encodable(scripted.call("bash", arguments)).message.tool_calls or []
    assert call.arguments == {}
    assert "levels deep" in str(call.parse_error)


def test_what_was_wrong_already_stays_said() -> None:
    call = ToolCall(id="1", function="bash", arguments=nested(5000), parse_error="no JSON")
    message = ChatMessageAssistant(content="", tool_calls=[call])
    output = ModelOutput(choices=[ChatCompletionChoice(message=message)], usage=ModelUsage())
    [mended] = encodable(output).message.tool_calls or []
    assert (mended.arguments, mended.parse_error) == ({}, "no JSON")


def nested(levels: int) -> dict[str, Any]:
    """Arguments of lists within each other, `levels` deep with the mapping around them."""
    value: Any = "bottom"
    for _ in range(levels - 1):
        value = [value]
    return {"command": value}
