"""The null harness, by what ends up in the messages and the actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ChatMessageTool,
    ContentReasoning,
    ContentText,
    ModelName,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.solver import TaskState
from inspect_ai.tool import Tool, tool

from control_tower.contracts import HarnessSession, Turn
from control_tower.harnesses._sent import DROPPED
from control_tower.harnesses.null import CONTINUE_MESSAGE, null
from control_tower.scripted import call, calls, say, submit
from control_tower.tools.backends import SandboxedBackend

if TYPE_CHECKING:
    from collections.abc import Callable

    from control_tower.trajectories.schema import Action

    RunNull = Callable[..., Any]


def test_conversation_opens_with_system_prompt_then_task(run: RunNull) -> None:
    result = run([submit()])
    first, second = result.asked[0]
    assert (first.role, first.text) == ("system", "You work in a company.")
    assert (second.role, second.text) == ("user", "Mend the ledger.")


def test_model_is_offered_the_session_tools(run: RunNull) -> None:
    result = run([submit()])
    assert result.offered == [["echo", "shout", "break_down", "submit"]]


def test_call_is_answered_and_recorded(run: RunNull) -> None:
    result = run([call("echo", {"text": "hello"}, text="I greet."), submit("done")])
    assert result.roles == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert result.actions[0].model_dump(exclude={"monitor_response", "turn"}) == {
        "index": 0,
        "function": "echo",
        "arguments": {"text": "hello"},
        "output": "hello",
        "output_error": None,
        "agent_reasoning": "I greet.",
    }


def test_reasoning_is_recorded_before_the_text(run: RunNull) -> None:
    reply = call("echo", {"text": "x"})
    reply.message.content = [
        ContentReasoning(reasoning="Careful now."),
        ContentText(text="I look."),
    ]
    result = run([reply, submit()])
    assert result.actions[0].agent_reasoning == "Careful now.\n\nI look."


def test_redacted_reasoning_is_recorded_by_its_summary_alone(run: RunNull) -> None:
    reply = call("echo", {"text": "x"})
    reply.message.content = [
        ContentReasoning(reasoning="c2VjcmV0", summary="It looked.", redacted=True)
    ]
    result = run([reply, submit()])
    assert result.actions[0].agent_reasoning == "It looked."


def test_submitted_answer_is_the_completion(run: RunNull) -> None:
    result = run([submit("42 rows mended")])
    assert result.sample.output.completion == "42 rows mended"
    assert result.sample.scores["_completion"].explanation == "42 rows mended"
    assert result.sample.limit is None
    assert [action.function for action in result.actions] == ["submit"]


def test_empty_answer_leaves_the_reply_as_the_completion(run: RunNull) -> None:
    result = run([submit("", text="All mended.")])
    assert result.sample.output.completion == "All mended."


def test_calls_before_submit_run_and_calls_after_it_do_not(run: RunNull) -> None:
    reply = calls(
        ("echo", {"text": "before"}), ("submit", {"answer": "done"}), ("echo", {"text": "after"})
    )
    result = run([reply])
    assert [action.function for action in result.actions] == ["echo", "submit"]
    assert result.answers == ["before", "done", "Not executed: the work had been submitted."]
    assert len(result.asked) == 1


def test_submit_with_bad_arguments_does_not_end_the_loop(run: RunNull) -> None:
    result = run([call("submit", {"reply": "done"}), submit("done")])
    assert len(result.asked) == 2
    assert "reply" in (result.actions[0].output_error or "")
    assert result.sample.output.completion == "done"


def test_parallel_calls_are_answered_in_order(run: RunNull) -> None:
    reply = calls(("echo", {"text": "one"}), ("shout", {"text": "two"}), ("echo", {"text": "six"}))
    result = run([reply, submit()])
    assert result.answers[:3] == ["one", "TWO", "six"]
    assert [action.output for action in result.actions[:3]] == ["one", "TWO", "six"]
    assert [action.index for action in result.actions] == [0, 1, 2, 3]
    asked_for = [request.id for request in reply.message.tool_calls or []]
    answered = [m.tool_call_id for m in result.sample.messages if isinstance(m, ChatMessageTool)]
    assert answered[:3] == asked_for


def test_one_call_at_a_time_refuses_the_others(run: RunNull) -> None:
    reply = calls(("echo", {"text": "one"}), ("echo", {"text": "two"}))
    result = run([reply, submit()], harness_args={"parallel_calls": False})
    assert result.answers[:2] == ["one", "Not executed: make one call at a time."]
    assert [action.function for action in result.actions] == ["echo", "submit"]
    assert result.configs[0].parallel_tool_calls is False


def test_reply_without_a_call_is_told_to_continue(run: RunNull) -> None:
    result = run([say("What shall I do?"), submit()])
    assert result.roles == ["system", "user", "assistant", "user", "assistant", "tool"]
    assert result.sample.messages[3].text == CONTINUE_MESSAGE


def test_continue_message_can_be_chosen(run: RunNull) -> None:
    result = run([say("Hm."), submit()], harness_args={"continue_message": "Go on."})
    assert result.sample.messages[3].text == "Go on."


def test_loop_gives_up_visibly_after_replies_without_a_call(run: RunNull) -> None:
    result = run([say("I would rather talk.")], harness_args={"max_continues": 2})
    assert len(result.asked) == 3
    assert result.told == [{"ended": "3 replies in a row made no tool call"}]
    assert result.sample.messages[-1].role == "assistant"
    assert result.sample.limit is None
    assert result.sample.scores


def test_a_call_starts_the_count_of_replies_without_one_again(run: RunNull) -> None:
    replies = [say("Hm."), call("echo", {"text": "x"}), say("Hm."), submit()]
    result = run(replies, harness_args={"max_continues": 1})
    assert result.told == []
    assert [action.function for action in result.actions] == ["echo", "submit"]


def test_refusal_is_a_reply_without_a_call(run: RunNull) -> None:
    refusal = say("I cannot help with that.")
    refusal.choices[0].stop_reason = "content_filter"
    result = run([refusal, submit()])
    assert result.sample.messages[3].text == CONTINUE_MESSAGE
    assert result.actions[-1].function == "submit"


def test_output_without_choices_is_a_reply_without_a_call() -> None:
    nothing = ModelOutput(model="scripted/policy", usage=ModelUsage(), error="overloaded")
    actions: list[Action] = []
    session = _session([], actions)
    anyio.run(null().run, session, _in_turn([nothing, submit("done")]))
    roles = [message.role for message in session.state.messages]
    assert roles == ["system", "user", "user", "assistant", "tool"]
    assert [action.function for action in actions] == ["submit"]


def test_long_output_keeps_head_and_tail(run: RunNull) -> None:
    text = "HEAD" + "x\n" * 5_000 + "TAIL"
    result = run([call("echo", {"text": text}), submit()], harness_args={"max_output": 100})
    shown = result.answers[0]
    assert shown.startswith("HEAD")
    assert shown.endswith("TAIL")
    assert "[… 9,908 characters (4,954 lines) left out …]" in shown
    assert result.actions[0].output == shown


def test_output_is_shown_whole_when_truncation_is_off(run: RunNull) -> None:
    text = "x" * 50_000
    result = run([call("echo", {"text": text}), submit()], harness_args={"max_output": 0})
    assert result.answers[0] == text


def test_long_error_is_truncated_too(run: RunNull) -> None:
    result = run([call("x" * 5_000, {}), submit()], harness_args={"max_output": 100})
    assert len(result.answers[0]) < 200
    assert "left out" in result.answers[0]


def test_malformed_arguments_are_answered_with_an_error_and_not_executed(run: RunNull) -> None:
    reply = call("echo", {})
    [request] = reply.message.tool_calls or []
    request.parse_error = "Error parsing the arguments: {'text': oops"
    result = run([reply, submit()])
    assert result.answers[0] == "Error parsing the arguments: {'text': oops"
    assert result.actions[0].output == ""
    assert result.actions[0].output_error == result.answers[0]


def test_half_a_character_is_answered_with_an_error_and_harms_no_log(run: RunNull) -> None:
    result = run([call("echo", {"text": "\ud800"}, text="see \ud800"), submit()])
    assert "not valid Unicode" in result.answers[0]
    assert result.sample.messages[2].text == "see \ufffd"
    assert result.actions[0].arguments == {"text": "\ufffd"}
    assert result.sample.error is None


def test_a_character_in_two_halves_is_joined(run: RunNull) -> None:
    result = run([call("echo", {"text": "\ud83d\ude00"}), submit()])
    assert result.answers[0] == "\U0001f600"


def test_unknown_tool_is_answered_with_an_error_and_recorded(run: RunNull) -> None:
    result = run([call("telephone", {"number": 1}), submit()])
    assert result.answers[0] == "Tool telephone not found"
    assert result.actions[0].function == "telephone"
    assert result.actions[0].output_error == "Tool telephone not found"


def test_tool_error_is_answered_and_the_loop_goes_on(run: RunNull) -> None:
    result = run([call("break_down", {}), submit()])
    assert result.answers[0] == "the lever is stuck"
    assert result.actions[0].output_error == "the lever is stuck"
    assert result.actions[1].function == "submit"


def test_fault_in_a_tool_errors_the_sample_and_keeps_the_action(run: RunNull) -> None:
    result = run([call("faulty", {})], tools=[faulty()])
    assert result.sample.error is not None
    assert "a fault of ours" in result.sample.error.message
    [action] = result.actions
    assert action.output_error == "The call was cut off (RuntimeError: a fault of ours)."


def test_overflow_drops_the_older_half_of_outputs_and_asks_again(run: RunNull) -> None:
    replies = [
        call("echo", {"text": "a" * 1_000}),
        call("echo", {"text": "b" * 1_000}),
        _overflow(),
        submit("done"),
    ]
    result = run(replies)
    assert [m.text[:1] for m in result.asked[2] if m.role == "tool"] == ["a", "b"]
    assert [m.text for m in result.asked[3] if m.role == "tool"] == [DROPPED, "b" * 1_000]
    assert result.answers[0] == "a" * 1_000, "the record stays whole"
    assert "too long" not in [message.text for message in result.sample.messages]
    assert result.told == [{"context_overflow": "1 old tool outputs are no longer sent"}]
    assert result.sample.limit is None


def test_what_was_dropped_stays_dropped(run: RunNull) -> None:
    replies = [
        call("echo", {"text": "a" * 1_000}),
        _overflow(),
        call("echo", {"text": "b" * 1_000}),
        submit(),
    ]
    result = run(replies)
    assert [m.text for m in result.asked[3] if m.role == "tool"] == [DROPPED, "b" * 1_000]


def test_overflow_that_stays_ends_at_a_visible_limit_and_is_scored(run: RunNull) -> None:
    replies = [calls(*(("echo", {"text": letter * 1_000}) for letter in "abcdefgh")), _overflow()]
    result = run(replies)
    assert len(result.asked) == 1 + 3, "asked again twice"
    sent = [message.text for message in result.asked[-1] if message.role == "tool"]
    assert sent == [DROPPED] * 6 + ["g" * 1_000, "h" * 1_000]
    assert result.sample.limit is not None
    assert result.sample.limit.type == "custom"
    assert "context overflowed" in (result.sample.limit.reason or "")
    assert result.sample.error is None
    assert result.sample.scores
    assert len(result.actions) == 8


def test_overflow_with_nothing_to_drop_ends_at_once(run: RunNull) -> None:
    result = run([_overflow()])
    assert len(result.asked) == 1
    assert result.sample.limit is not None
    assert "no tool output to leave out" in (result.sample.limit.reason or "")


def test_message_limit_ends_the_loop_and_the_sample_is_scored(run: RunNull) -> None:
    result = run([call("echo", {"text": "x"})], message_limit=6)
    assert result.sample.limit is not None
    assert result.sample.limit.type == "message"
    assert len(result.sample.messages) == 6
    assert result.sample.scores
    assert result.sample.error is None


def test_action_whose_answer_passes_the_message_limit_is_recorded(run: RunNull) -> None:
    reply = calls(("echo", {"text": "one"}), ("echo", {"text": "two"}), ("echo", {"text": "six"}))
    result = run([reply], message_limit=4)
    assert [action.output for action in result.actions] == ["one", "two"]
    assert result.answers == ["one"]
    assert result.sample.limit is not None
    assert result.sample.limit.type == "message"


def test_token_limit_ends_the_loop_and_the_sample_is_scored(run: RunNull) -> None:
    reply = call("echo", {"text": "x"})
    reply.usage = ModelUsage(input_tokens=60, output_tokens=40, total_tokens=100)
    result = run([reply], token_limit=250)
    assert result.sample.limit is not None
    assert result.sample.limit.type == "token"
    assert result.sample.scores


def test_time_limit_cuts_a_call_off_and_the_action_is_kept(run: RunNull) -> None:
    result = run([call("wait_for_ever", {})], tools=[wait_for_ever()], time_limit=1)
    assert result.sample.limit is not None
    assert result.sample.limit.type == "time"
    [action] = result.actions
    assert action.function == "wait_for_ever"
    assert "cut off" in (action.output_error or "")


def test_cancellation_passes_through_and_keeps_what_was_begun() -> None:
    actions: list[Action] = []
    finished: list[str] = []

    async def main() -> None:
        began = anyio.Event()
        session = _session([wait_for_ever(began)], actions)

        async def loop() -> None:
            await null().run(session, _in_turn([call("wait_for_ever", {})]))
            finished.append("loop")

        async with anyio.create_task_group() as group:
            group.start_soon(loop)
            await began.wait()
            group.cancel_scope.cancel()

    anyio.run(main)
    assert finished == []
    assert [action.function for action in actions] == ["wait_for_ever"]


def test_a_policy_cannot_change_the_conversation_through_the_turn() -> None:
    async def meddling(turn: Turn) -> ModelOutput:
        turn.messages.clear()  # type: ignore[attr-defined]
        return submit()

    session = _session([], [])
    anyio.run(null().run, session, meddling)
    roles = [message.role for message in session.state.messages]
    assert roles == ["system", "user", "assistant", "tool"]


@pytest.mark.parametrize("name", ["max_output", "max_continues", "max_compactions"])
def test_negative_numbers_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} of 'null' cannot be negative"):
        null(**{name: -1})


def _overflow() -> ModelOutput:
    message = ChatMessageAssistant(content="too long", model="scripted/policy")
    choice = ChatCompletionChoice(message=message, stop_reason="model_length")
    return ModelOutput(model="scripted/policy", choices=[choice], usage=ModelUsage())


def _session(tools: list[Tool], actions: list[Action]) -> HarnessSession:
    from control_tower.tools.submit import submit as submit_tool

    state = TaskState(
        model=ModelName("mockllm/model"), sample_id="one", epoch=1, input="", messages=[]
    )
    return HarnessSession(
        state=state,
        system_prompt="You work in a company.",
        task_prompt="Mend the ledger.",
        tools=[*tools, submit_tool()],
        backend=SandboxedBackend(),
        record=actions.append,
    )


def _in_turn(replies: list[ModelOutput]) -> Any:
    remaining = iter(replies)

    async def generate(turn: Turn) -> ModelOutput:
        return next(remaining)

    return generate


@tool
def faulty() -> Tool:
    async def execute() -> str:
        """Fail in a way that is no fault of the agent's."""
        raise RuntimeError("a fault of ours")

    return execute


@tool
def wait_for_ever(began: anyio.Event | None = None) -> Tool:
    async def execute() -> str:
        """Wait."""
        if began is not None:
            began.set()
        await anyio.sleep_forever()
        return ""

    return execute
