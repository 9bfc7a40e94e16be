"""The backend that answers from a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from support.recordings import bash, recording, submitted

from control_tower import scripted
from control_tower.tools.replayed import ReplayDivergence, ReplayedBackend, is_call

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessageTool, ModelOutput

RECORDED = recording(
    bash("ls", "a\nb\n"), bash("false", "", output_error="exit code 1"), submitted()
).actions


def answers(backend: ReplayedBackend, output: ModelOutput) -> list[ChatMessageTool]:
    return anyio.run(backend.execute, output.message, [])


def run(command: str) -> ModelOutput:
    return scripted.call("bash", {"command": command})


def test_calls_are_answered_as_recorded() -> None:
    backend = ReplayedBackend(RECORDED)
    [first] = answers(backend, run("ls"))
    [second] = answers(backend, run("false"))
    [third] = answers(backend, scripted.submit("done"))
    assert (first.text, first.error, first.function) == ("a\nb\n", None, "bash")
    assert second.error is not None
    assert second.error.message == "exit code 1"
    assert (third.text, third.error) == ("done", None)


def test_several_calls_of_one_message_are_answered_in_order() -> None:
    output = scripted.calls(("bash", {"command": "ls"}), ("bash", {"command": "false"}))
    found = answers(ReplayedBackend(RECORDED), output)
    assert [a.tool_call_id for a in found] == [c.id for c in output.message.tool_calls or []]
    assert [a.text for a in found] == ["a\nb\n", ""]


def test_another_call_names_the_step_and_both_calls() -> None:
    backend = ReplayedBackend(RECORDED)
    answers(backend, run("ls"))
    with pytest.raises(ReplayDivergence) as caught:
        answers(backend, run("true"))
    assert str(caught.value) == (
        'step 1: bash {"command": "false"} was recorded, and bash {"command": "true"} was asked; '
        "the recording has no answer"
    )


def test_calls_that_differ_where_nothing_is_shown_of_them_are_said_to() -> None:
    backend = ReplayedBackend(recording(bash("x" * 500 + "1")).actions)
    with pytest.raises(ReplayDivergence, match="they differ further on"):
        answers(backend, run("x" * 500 + "2"))


def test_a_call_after_the_end_has_no_answer() -> None:
    with pytest.raises(ReplayDivergence, match=r"^step 0: the recording ends before it, and bash"):
        answers(ReplayedBackend([]), run("ls"))


def test_a_submission_ends_the_loop_wherever_it_comes() -> None:
    [answer] = answers(ReplayedBackend(RECORDED), scripted.submit("early"))
    assert (answer.text, answer.error) == ("early", None)


def test_a_call_that_differed_is_not_skipped() -> None:
    backend = ReplayedBackend(RECORDED)
    with pytest.raises(ReplayDivergence):
        answers(backend, run("pwd"))
    assert answers(backend, run("ls"))[0].text == "a\nb\n"


@pytest.mark.parametrize(
    ("arguments", "same"),
    [({"command": "ls"}, True), ({"command": "ls", "timeout": 3}, False), ({}, False)],
)
def test_arguments_are_compared_as_a_whole(arguments: dict[str, object], same: bool) -> None:
    assert is_call(RECORDED[0], "bash", arguments) is same
    assert not is_call(RECORDED[0], "editor", arguments)


def test_the_order_of_arguments_does_not_matter() -> None:
    [action] = recording({"function": "bash", "arguments": {"a": 1, "b": [2]}}).actions
    assert is_call(action, "bash", {"b": [2], "a": 1})
