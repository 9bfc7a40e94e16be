"""The sandboxed backend: what becomes of an assistant message's calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from inspect_ai.tool import Tool, ToolError, tool

from control_tower import scripted
from control_tower.sandboxes.isolation import is_agents_own
from control_tower.tools.backends import SandboxedBackend
from control_tower.tools.names import SUBMIT
from control_tower.tools.submit import submit

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageTool


def test_every_call_is_answered_in_order() -> None:
    message = scripted.calls(
        ("double", {"number": 2}),
        ("telephone", {}),
        ("double", {"number": "two"}),
        ("refuse", {}),
        ("double", {"number": 4}),
    ).message
    answers = _execute(message, [double(), refuse()])
    assert [answer.tool_call_id for answer in answers] == [c.id for c in message.tool_calls or []]
    assert [answer.error is not None for answer in answers] == [False, True, True, True, False]
    assert [answers[0].text, answers[4].text] == ["4", "8"]


def test_malformed_call_is_not_executed() -> None:
    message = scripted.call("double", {"number": 2}).message
    [request] = message.tool_calls or []
    request.parse_error = "no JSON"
    [answer] = _execute(message, [double()])
    assert answer.text == ""
    assert answer.error is not None
    assert answer.error.message == "no JSON"


def test_output_is_not_truncated() -> None:
    message = scripted.call("pad", {}).message
    [answer] = _execute(message, [pad()])
    assert len(answer.text) == 100_000


def test_message_without_calls_has_no_answers() -> None:
    assert _execute(scripted.say("Hello.").message, [double()]) == []


def test_fault_in_a_tool_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        _execute(scripted.call("divide", {}).message, [divide()])


def test_what_tools_do_is_the_agent_s_own_and_nothing_else_is() -> None:
    [answer] = _execute(scripted.call("whose", {}).message, [whose()])
    assert answer.text == "the agent's"
    assert not is_agents_own()


def test_scripted_submission_calls_the_submit_tool() -> None:
    [answer] = _execute(scripted.submit("done").message, [submit()])
    assert (answer.function, answer.text, answer.error) == (SUBMIT, "done", None)


def _execute(message: ChatMessageAssistant, tools: list[Tool]) -> list[ChatMessageTool]:
    return anyio.run(SandboxedBackend().execute, message, tools)


@tool
def double() -> Tool:
    async def execute(number: int) -> int:
        """Double a number.

        Args:
            number: The number.
        """
        return 2 * number

    return execute


@tool
def refuse() -> Tool:
    async def execute() -> str:
        """Refuse."""
        raise ToolError("no")

    return execute


@tool
def pad() -> Tool:
    async def execute() -> str:
        """Print a lot."""
        return "x" * 100_000

    return execute


@tool
def divide() -> Tool:
    async def execute() -> float:
        """Divide by zero."""
        return 1 / 0

    return execute


@tool
def whose() -> Tool:
    async def execute() -> str:
        """Say whose the commands of a tool are."""
        return "the agent's" if is_agents_own() else "another's"

    return execute
