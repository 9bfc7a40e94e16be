"""The `null` harness: our own agent loop, with nothing between the agent and its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from control_tower.components import harness
from control_tower.contracts import Generate, Harness, HarnessSession, Turn
from control_tower.harnesses._actions import ActionRecorder, refusal, shortened
from control_tower.harnesses._sent import SentMessages
from control_tower.valid_text import encodable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from inspect_ai.model import (
        ChatMessage,
        ChatMessageAssistant,
        ChatMessageTool,
        GenerateConfig,
        ModelOutput,
    )
    from inspect_ai.tool import Tool, ToolCall, ToolInfo

CONTINUE_MESSAGE = (
    "Go on with the task, using the tools you have. If it is finished, call the submit tool."
)


@harness(gives=["linear_history"])
def null(
    max_output: int = 16_384,
    continue_message: str = CONTINUE_MESSAGE,
    max_continues: int = 5,
    parallel_calls: bool = True,
    max_compactions: int = 2,
) -> Harness:
    """Our own agent loop.

    A reply's calls are executed one after another, in order, so that a run can be told and
    replayed. `submit` ends the loop; calls after it in the same reply are not executed.

    Args:
        max_output: characters of a tool's output that the agent sees, half from its head and half
            from its tail; 0 shows everything.
        continue_message: what the agent is told after a reply without a tool call.
        max_continues: how many times in a row it is told so before the loop ends.
        parallel_calls: whether one reply may hold several calls. If not, the model is asked for
            one at a time, and only the first of several is executed.
        max_compactions: how many times in a row the older half of the tool outputs is left out
            of what is sent when the model's context overflows. If it still overflows, the sample
            ends at a limit of type `custom` and is scored.

    Raises:
        ValueError: if a number is negative.
    """
    return NullHarness(
        max_output=max_output,
        continue_message=continue_message,
        max_continues=max_continues,
        parallel_calls=parallel_calls,
        max_compactions=max_compactions,
    )


class NullHarness(Harness):
    """See `null`."""

    def __init__(
        self,
        *,
        max_output: int,
        continue_message: str,
        max_continues: int,
        parallel_calls: bool,
        max_compactions: int,
    ) -> None:
        numbers = {
            "max_output": max_output,
            "max_continues": max_continues,
            "max_compactions": max_compactions,
        }
        for name, number in numbers.items():
            if number < 0:
                raise ValueError(f"{name} of 'null' cannot be negative (given {number})")
        self.max_output = max_output
        self.continue_message = continue_message
        self.max_continues = max_continues
        self.parallel_calls = parallel_calls
        self.max_compactions = max_compactions

    async def run(self, session: HarnessSession, generate: Generate) -> None:
        """Run the loop until the agent submits, gives up, or a limit of Inspect's ends it.

        Raises:
            LimitExceededError: a limit was reached, of Inspect's or of the model's context.
        """
        from inspect_ai.model import ChatMessageUser

        state = session.state
        state.messages = _opening(session)
        asking = _Asking(self, session, generate)
        recorder = ActionRecorder(session)
        without_call = 0
        while True:
            output = await asking.reply()
            message = None if output.empty else output.message
            if message is not None:
                state.messages.append(message)
            state.output = output
            if message is not None and message.tool_calls:
                without_call = 0
                if await self._execute(session, recorder, message):
                    return
                continue
            if without_call == self.max_continues:
                _tell({"ended": f"{without_call + 1} replies in a row made no tool call"})
                return
            without_call += 1
            state.messages.append(ChatMessageUser(content=self.continue_message))

    async def _execute(
        self, session: HarnessSession, recorder: ActionRecorder, message: ChatMessageAssistant
    ) -> bool:
        """Execute the reply's calls in order; whether one of them submitted."""
        messages = session.state.messages
        submitted = False
        for position, call in enumerate(message.tool_calls or []):
            if submitted:
                messages.append(refusal(call, "the work had been submitted."))
            elif position > 0 and not self.parallel_calls:
                messages.append(refusal(call, "make one call at a time."))
            else:
                answer = await self._answer(session, recorder, message, call)
                submitted = _is_submission(answer)
                if submitted:
                    _keep_answer(session, call)
                messages.append(answer)
        return submitted

    async def _answer(
        self,
        session: HarnessSession,
        recorder: ActionRecorder,
        message: ChatMessageAssistant,
        call: ToolCall,
    ) -> ChatMessageTool:
        """Execute one call and record it, at once: a limit may end the sample at any await."""
        alone = message.model_copy(update={"tool_calls": [call]})
        try:
            answers = await session.backend.execute(alone, session.tools)
        except BaseException as reason:
            recorder.cut_off(message, call, reason)
            raise
        if len(answers) != 1:
            raise RuntimeError(f"the tool backend gave {len(answers)} answers to one call")
        answer = shortened(answers[0], self.max_output)
        recorder.answered(message, call, answer)
        return answer


class _Asking:
    """Asks for replies, leaving old tool outputs out when the model's context overflows."""

    def __init__(self, harness: NullHarness, session: HarnessSession, generate: Generate) -> None:
        self._generate = generate
        self._state = session.state
        self._max_compactions = harness.max_compactions
        self._tools = _tool_infos(session.tools)
        self._config = _config(parallel_calls=harness.parallel_calls)
        self._sent = SentMessages()

    async def reply(self) -> ModelOutput:
        """The next reply that is not a context overflow.

        Raises:
            LimitExceededError: of type `custom`, if the conversation cannot be made to fit.
        """
        compactions = 0
        while True:
            output = encodable(await self._generate(self._turn()))
            if output.empty or output.stop_reason != "model_length":
                return output
            dropped = 0
            if compactions < self._max_compactions:
                dropped = self._sent.drop_oldest(self._state.messages)
            if not dropped:
                self._state.output = output
                raise _context_overflow(compactions)
            compactions += 1
            _tell({"context_overflow": f"{dropped} old tool outputs are no longer sent"})

    def _turn(self) -> Turn:
        return Turn(
            messages=self._sent.of(self._state.messages),
            tools=self._tools,
            tool_choice="auto",
            config=self._config,
        )


def _opening(session: HarnessSession) -> list[ChatMessage]:
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser

    prompt = ChatMessageUser(content=session.task_prompt, source="input")
    if not session.system_prompt:
        return [prompt]
    return [ChatMessageSystem(content=session.system_prompt), prompt]


def _tool_infos(tools: Sequence[Tool]) -> list[ToolInfo]:
    from inspect_ai.tool import ToolInfo

    from control_tower.tools.definitions import definition

    return [
        ToolInfo(
            name=known.name,
            description=known.description,
            parameters=known.parameters,
            options=known.options,
        )
        for known in map(definition, tools)
    ]


def _config(*, parallel_calls: bool) -> GenerateConfig | None:
    from inspect_ai.model import GenerateConfig

    return None if parallel_calls else GenerateConfig(parallel_tool_calls=False)


def _is_submission(answer: ChatMessageTool) -> bool:
    from control_tower.tools.names import SUBMIT

    return answer.function == SUBMIT and answer.error is None


def _keep_answer(session: HarnessSession, call: ToolCall) -> None:
    """Make the submitted answer the completion; an empty one leaves the reply's text there."""
    answer = str(call.arguments.get("answer") or "")
    if answer:
        state = session.state
        state.output = state.output.model_copy(update={"completion": answer})


def _context_overflow(compactions: int) -> Exception:
    from inspect_ai.util import LimitExceededError

    message = (
        "The model's context overflowed: the conversation does not fit, even with old tool "
        f"outputs left out {compactions} times."
        if compactions
        else "The model's context overflowed, and there is no tool output to leave out."
    )
    _tell({"ended": message})
    return LimitExceededError("custom", value=compactions + 1, limit=compactions, message=message)


def _tell(data: dict[str, str]) -> None:
    from inspect_ai.log import transcript

    transcript().info(dict(data), source="control_tower.harnesses.null")
