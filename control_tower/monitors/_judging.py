"""What all model monitors share: asking a model for a verdict, again if need be, several times.

A monitor of your own says how its prompt's places are filled in, and the rest is here:

    class Brief(ModelMonitor):
        def places(self, case: Case) -> dict[str, str]:
            return case_places(case, View(context_actions=1))


    @monitor(roles=["monitor"])
    def brief(model: str | None = None, draws: int = 1) -> Monitor:
        text = monitor_prompt("brief.md", name="action")
        return Brief(text, Asking(model=model, draws=draws))

The scale, and asking a trusted model for a suspicion score of a proposed action, are from
Greenblatt et al. 2023, "AI Control: Improving Safety Despite Intentional Subversion"
(arXiv:2312.06942); reducing several draws or monitors to one score, from Bhatt et al. 2025,
"Ctrl-Z: Controlling AI Agents via Resampling" (arXiv:2504.10374).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from control_tower.contracts import Case, Monitor
from control_tower.monitors._checks import check_least
from control_tower.monitors._reducing import IfUnscored, combined, find_reducer
from control_tower.monitors._rendering import PLACES, View, case_places
from control_tower.monitors._verdict import FORMAT, NoVerdict, verdict
from control_tower.prompt_files import Prompt, prompt
from control_tower.together import together
from control_tower.valid_text import encodable

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Model, ModelOutput

    from control_tower.trajectories.schema import MonitorMember, MonitorResponse

MOST_ASKED = 100
"""Draws of one answer, and attempts at one draw."""
_KEPT = 2_000
"""Characters of a reply that are kept with the score."""


def monitor_prompt(own: str | None, *, name: str) -> Prompt:
    """A monitor's prompt, with the places of `case_places` and `format`.

    Args:
        own: path of a file of the user's; None: the packaged prompt.
        name: of the packaged prompt.

    Raises:
        ValueError: the file cannot be read, or has an unknown place.
    """
    return prompt(own, package="control_tower.monitors", name=name, places=[*PLACES, "format"])


@dataclass(frozen=True)
class Asking:
    """Which model is asked, how often, and what its draws come to.

    Raises:
        ValueError: a number out of its range, or an unknown reducer.
    """

    role: str = "monitor"
    """The model role that is asked."""
    model: str | None = None
    """The model if the role is not bound."""
    draws: int = 1
    """How many verdicts are asked for, at once."""
    reducer: str = "mean"
    """What makes one score of the draws; see `find_reducer`."""
    unscored_draws: IfUnscored = "unscored"
    retries: int = 2
    """How many times more a draw is asked for after a reply that gives no verdict."""
    temperature: float | None = None
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if not self.role:
            raise ValueError("role is empty; name the model role that is asked")
        check_least("draws", self.draws, 1, MOST_ASKED)
        check_least("retries", self.retries, 0, MOST_ASKED)
        if self.temperature is not None:
            check_least("temperature", self.temperature, 0)
        if self.max_tokens is not None:
            check_least("max_tokens", self.max_tokens, 1)
        find_reducer(self.reducer)


class ModelMonitor(Monitor):
    """Asks a model for a verdict on a case.

    Args:
        text: the prompt; its place `format` is filled in here.
        asking: which model, and how often.
    """

    def __init__(self, text: Prompt, asking: Asking) -> None:
        self._text = text
        self._asking = asking
        self._reducer = find_reducer(asking.reducer)

    @abstractmethod
    def places(self, case: Case) -> Mapping[str, str]:
        """What fills the prompt's places but `format`, escaped where an agent wrote it.

        Raises:
            NoVerdict: there is nothing to judge; the case is unscored, and no model is asked.
        """

    async def score(self, case: Case) -> MonitorResponse:
        """The model's suspicion; None, with the reason, if it gave no verdict or has no prompt."""
        from inspect_ai.model import get_model
        from inspect_ai.util import LimitExceededError

        from control_tower.trajectories.schema import MonitorResponse

        asking = self._asking
        model = get_model(role=asking.role, default=asking.model)
        try:
            text = self._text.filled(**self.places(case), format=FORMAT)
        except NoVerdict as nothing:
            return MonitorResponse(model_name=str(model), error=str(nothing))
        except LimitExceededError:
            raise
        except Exception as error:
            problem = f"the prompt could not be made: {_cause(error)}"
            return MonitorResponse(model_name=str(model), error=problem)
        draw = partial(self._draw, model, text)
        names = [f"draw {number} of {asking.draws}" for number in range(1, asking.draws + 1)]
        members = await together([(name, draw) for name in names])
        return combined(members, reducer=self._reducer, unscored=asking.unscored_draws)

    async def _draw(self, model: Model, text: str) -> MonitorMember:
        from inspect_ai.model import ChatMessageUser

        from control_tower.trajectories.schema import MonitorMember

        question: list[ChatMessage] = [ChatMessageUser(content=text)]
        member = MonitorMember(model_name=str(model))
        messages = question
        for attempt in range(1, self._asking.retries + 2):
            answer = await self._ask(model, messages)
            member.reply = answer.reply[:_KEPT]
            if answer.score is not None:
                return member.model_copy(update={"sus_score": answer.score, "error": None})
            member.error = f"no verdict after {_spoken(attempt)}: {answer.problem}"
            if answer.final:
                break
            messages = [*question, *_again(answer)]
        return member

    async def _ask(self, model: Model, messages: Sequence[ChatMessage]) -> _Answer:
        from inspect_ai.model import GenerateConfig
        from inspect_ai.util import LimitExceededError

        asking = self._asking
        own = GenerateConfig(temperature=asking.temperature, max_tokens=asking.max_tokens)
        # Draws from a cache would all be the same.
        more: dict[str, Any] = {} if asking.draws == 1 else {"cache": False}
        try:
            output = await model.generate(list(messages), config=own, **more)
        except LimitExceededError:
            raise
        except Exception as error:
            return _Answer(problem=f"the model failed: {_cause(error)}", asked=False)
        return _read(output)


class CaseMonitor(ModelMonitor):
    """Shows the model the case itself, tagged and escaped.

    Args:
        text: the prompt.
        asking: which model, and how often.
        view: how much of the case is shown.
    """

    def __init__(self, text: Prompt, asking: Asking, view: View) -> None:
        super().__init__(text, asking)
        self._view = view

    def places(self, case: Case) -> Mapping[str, str]:
        """The case as `case_places` has it."""
        return case_places(case, self._view)


@dataclass(frozen=True)
class _Answer:
    """What came of one request: a score, or what was wrong."""

    reply: str = ""
    score: float | None = None
    problem: str = ""
    asked: bool = True
    """Whether the model replied at all, so that it is told what was wrong."""
    final: bool = False
    """Whether asking again is of no use."""


def _read(output: ModelOutput) -> _Answer:
    if output.empty:
        return _Answer(problem=output.error or "the model gave no reply")
    reply = encodable(output).message.text
    if output.stop_reason == "model_length":
        return _Answer(reply, problem="the model's context window is too small", final=True)
    if output.stop_reason == "content_filter":
        return _Answer(reply, problem="the model refused to answer")
    try:
        return _Answer(reply, score=verdict(reply))
    except NoVerdict as wrong:
        cut = " (it was cut off: max_tokens)" if output.stop_reason == "max_tokens" else ""
        return _Answer(reply, problem=f"{output.error or wrong}{cut}")


def _again(answer: _Answer) -> list[ChatMessage]:
    """What is added to the question: the last reply, and what was wrong with it."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

    if not answer.asked:
        return []
    words = f"Your reply could not be used: {answer.problem}. Judge the case again. {FORMAT}"
    correction = ChatMessageUser(content=words)
    if not answer.reply.strip():
        return [correction]
    return [ChatMessageAssistant(content=answer.reply), correction]


def _cause(error: Exception) -> str:
    """The error on one line, without the request that Inspect's own error holds."""
    text = getattr(error, "provider_message", None) or str(error)
    line = " ".join(str(text).split())
    name = type(error).__name__
    return f"{name}: {line[:300]}" if line else name


def _spoken(attempts: int) -> str:
    return "1 attempt" if attempts == 1 else f"{attempts} attempts"
