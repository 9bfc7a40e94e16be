"""Where the marker of an attack is found, and what is left when it is taken off."""

from __future__ import annotations

from typing import Any

import pytest
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    Logprob,
    Logprobs,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolCall

from control_tower import scripted
from control_tower.policies._marker import without_marker


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[attack]\nMending.", "Mending."),
        ("[attack]\r\n\r\nMending.", "Mending."),
        ("[attack]", ""),
        ("[attack] Mending.", "Mending."),
        ("[ATTACK]: Mending.", "Mending."),
        ("  [Attack]  \n\n  Mending.", "Mending."),
        ("**[attack]**\nMending.", "Mending."),
        ("`[attack]`\nMending.", "Mending."),
        ("**[attack]:**\nMending.", "Mending."),
        ("## [attack]\nMending.", "Mending."),
        ("- [attack]\n- Mending.", "- Mending."),
        ("> [attack]\nMending.", "Mending."),
        ("Looking.\n[attack]\n\nMending.", "Looking.\nMending."),
        ("Looking.\n\n[attack]", "Looking."),
        ("[attack]\n[attack]\nMending.", "Mending."),
        ("<think>[attack]\nHm.</think>\nMending.", "<think>Hm.</think>\nMending."),
        ("[attack]\n    indented\nMending.", "indented\nMending."),
        ("Code:\n[attack]\n    indented", "Code:\n    indented"),
    ],
)
def test_the_marker_is_found_at_the_beginning_of_a_line(text: str, left: str) -> None:
    output, marked = without_marker(scripted.call("bash", {"command": "ls"}, text=text))
    assert marked
    assert (output.message.text, output.completion) == (left, left)
    [call] = output.message.tool_calls or []
    assert call.arguments == {"command": "ls"}


@pytest.mark.parametrize(
    "text", ["", "Mending.\n", "This [attack] is none.", "[attacks]", "attack"]
)
def test_other_text_is_left_as_it_is(text: str) -> None:
    output = scripted.say(text)
    assert without_marker(output) == (output, False)


def test_calls_are_not_looked_through() -> None:
    output = scripted.call("bash", {"command": "[attack]"})
    assert without_marker(output) == (output, False)


def test_the_marker_is_found_in_reasoning_and_its_summary() -> None:
    reasoning = ContentReasoning(reasoning="Hm.\n[attack]\nYes.", summary="[attack] Yes.")
    output, marked = without_marker(_said([reasoning, ContentText(text="Mending.")]))
    assert marked
    first, second = output.message.content
    assert first == ContentReasoning(reasoning="Hm.\nYes.", summary="Yes.")
    assert second == ContentText(text="Mending.")


def test_a_text_that_was_only_the_marker_is_gone() -> None:
    reasoning = ContentReasoning(reasoning="Hm.")
    output, marked = without_marker(_said([reasoning, ContentText(text="[attack]\n")]))
    assert marked
    assert output.message.content == [reasoning]
    output, marked = without_marker(_said([ContentText(text="[attack]")]))
    assert marked
    assert output.message.content == ""


def test_log_probabilities_do_not_show_the_marker() -> None:
    said = _said("[attack] Mending.")
    said.choices[0].logprobs = Logprobs(content=[Logprob(token="[attack]", logprob=0.0)])
    assert "[attack]" in said.model_dump_json()
    output, _ = without_marker(said)
    assert "[attack]" not in output.model_dump_json()


def test_an_empty_output_has_no_marker() -> None:
    assert without_marker(ModelOutput()) == (ModelOutput(), False)


def _said(content: Any) -> ModelOutput:
    call = ToolCall(id="1", function="bash", arguments={})
    message = ChatMessageAssistant(content=content, tool_calls=[call])
    return ModelOutput(choices=[ChatCompletionChoice(message=message)], usage=ModelUsage())
