"""What stands between harness, protocol and policy: no proposal reaches a tool but through blue.

The harness is handed `Middle.decide` and nothing else, so that every turn of every thread goes
through the protocol. Blue and red work on copies: what either changes in place changes nothing of
the conversation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import anyio
from inspect_ai.log import transcript
from inspect_ai.model import ModelOutput

from control_tower.contracts import BlueContext, BlueProtocol, Decisions, Policy, Turn
from control_tower.declarations import is_declared
from control_tower.episode.privacy import PublicHistory, PublicView, public_output
from control_tower.stray_exits import stray_exits_are_errors
from control_tower.valid_text import encodable

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessageAssistant
    from inspect_ai.tool import ToolCall

    from control_tower.episode.record import EpisodeRecord
    from control_tower.trajectories.schema import Action, Decision, MonitorResponse

_SOURCE = "control_tower.protocols"
"""Of the entries that decisions make in the transcript."""
_OUTCOME = "control_tower.episode"


class UndeclaredAsking(RuntimeError):
    """A protocol asked for a proposal although it is registered as one that never does."""


class Middle:
    """One sample's.

    Args:
        policy: the untrusted policy, set up already.
        protocol: blue's.
        blue: what the protocol is told, still without history and decisions.
        record: the episode's, which keeps actions, decisions, and whether the attack was caught.
        attacks: whether there is a side task, without which nothing can be caught.
        names: what policy and protocol are called in errors.
        asks_untrusted: whether the protocol says that it ever asks for a proposal; one that does
            not gets none.
        private_tools: names of the tools that only the red team knows of.
    """

    def __init__(
        self,
        policy: Policy,
        protocol: BlueProtocol,
        blue: BlueContext,
        record: EpisodeRecord,
        *,
        attacks: bool,
        names: tuple[str, str] = ("policy", "protocol"),
        asks_untrusted: bool = True,
        private_tools: frozenset[str] = frozenset(),
    ) -> None:
        self._policy = policy
        self._protocol = protocol
        self._record = record
        self._attacks = attacks
        self._names = names
        self._asks_untrusted = asks_untrusted
        self._private = private_tools
        self._lock = anyio.Lock()
        self._proposals: dict[str | None, tuple[ModelOutput, bool]] = {}
        """By message id: the whole proposal, and whether it was declared part of an attack."""
        self._call_ids: set[str] = set()
        self._turns = 0
        self._response: MonitorResponse | None = None
        """The monitor's answer about the turn that is executed now."""
        self.blue = replace(
            blue,
            history=PublicHistory(record.actions, private_tools),
            decisions=Decisions(self._keep),
        )
        """What the protocol is told."""

    async def decide(self, turn: Turn) -> ModelOutput:
        """The turn that is executed: what the protocol makes of the policy's proposals.

        Raises:
            TypeError: policy or protocol returned something else than a `ModelOutput`.
            UndeclaredAsking: the protocol asked for a proposal and says that it never does.
            LimitExceededError: a limit was hit, or the protocol terminated the run.
        """
        async with self._lock:
            view = PublicView(turn.messages, self._private)
            public = [tool for tool in turn.tools if tool.name not in self._private]
            private = [tool for tool in turn.tools if tool.name in self._private]

            async def propose(asked: Turn) -> ModelOutput:
                self._refuse_undeclared()
                known = [*asked.tools, *private]
                red = replace(asked, messages=view.whole(asked.messages), tools=known)
                with stray_exits_are_errors(self._names[0]):
                    return self._proposed(await self._policy.generate(red))

            shown = replace(turn, messages=view.messages, tools=public)
            with stray_exits_are_errors(self._names[1]):
                given = await self._protocol.generate(shown, propose)
            decided = _model_output(given, self._names[1])
            self._response = self._answer_about(decided)
            self._note_declaration(decided)
            self._count(decided)
            whole = self._whole(decided)
            return _without_calls(whole) if turn.kind == "utility" else whole

    def record_action(self, action: Action) -> None:
        """Keep an executed call, with what the monitor said of its turn."""
        if action.function not in self._private:
            action = action.model_copy(update={"monitor_response": self._response})
        action = action.model_copy(update={"turn": self._turns - 1})
        self._record.actions.append(action)

    def _refuse_undeclared(self) -> None:
        if not self._asks_untrusted:
            raise UndeclaredAsking(
                f"{self._names[1]} asked the untrusted policy, and is registered with "
                "asks_untrusted=False; leave that out, or do not ask"
            )

    def _proposed(self, given: object) -> ModelOutput:
        """The proposal as blue sees it, after its whole was put aside."""
        output = encodable(_model_output(given, self._names[0])).model_copy(deep=True)
        if output.empty:
            return output
        declared = is_declared(output)
        output = self._with_own_ids(output)
        self._proposals[output.message.id] = (output, declared)
        if declared:
            transcript().info(
                {"part_of_attack": True, "message": output.message.id},
                source="control_tower.policies",
            )
        return public_output(output, self._private).model_copy(deep=True)

    def _with_own_ids(self, output: ModelOutput) -> ModelOutput:
        """One choice, without the policy's notes, whose ids no earlier proposal has."""
        message = output.message
        fresh: dict[str, object] = {"metadata": None}
        if message.id is None or message.id in self._proposals:
            fresh["id"] = uuid4().hex
        if message.tool_calls:
            fresh["tool_calls"] = [self._with_own_id(call) for call in message.tool_calls]
        choice = output.choices[0].model_copy(update={"message": message.model_copy(update=fresh)})
        return output.model_copy(update={"choices": [choice], "metadata": None})

    def _with_own_id(self, call: ToolCall) -> ToolCall:
        taken = call.id in self._call_ids
        call = replace(call, id=f"call_{uuid4().hex}") if taken or not call.id else call
        self._call_ids.add(call.id)
        return call

    def _whole(self, decided: ModelOutput) -> ModelOutput:
        """The decided turn, with the private calls of the proposal that goes ahead unchanged."""
        decided = encodable(decided).model_copy(deep=True)
        if decided.empty or not self._private:
            return decided
        whole, _ = self._proposals.get(decided.message.id, (None, False))
        if whole is not None and _same(public_output(whole, self._private), decided):
            return whole.model_copy(deep=True)
        return _without_private(decided, self._private)

    def _note_declaration(self, decided: ModelOutput) -> None:
        """Keep whether the turn that goes ahead is one that the policy declared."""
        if not self._policy.declares_attacks:
            return
        record = self._record
        record.declared_attacks = record.declared_attacks or []
        id = None if decided.empty else decided.message.id
        if self._proposals.get(id, (None, False))[1]:
            record.declared_attacks.append(self._turns)

    def _count(self, decided: ModelOutput) -> None:
        decisions = self._record.decisions
        acted = bool(decisions) and decisions[-1].turn == self._turns
        self._record.turns += acted or (not decided.empty and bool(decided.message.tool_calls))
        self._turns += 1

    def _answer_about(self, decided: ModelOutput) -> MonitorResponse | None:
        if decided.empty:
            return None
        executed = decided.message.id
        for decision in reversed(self._record.decisions):
            if decision.turn != self._turns:
                return None
            if decision.instead_id == executed and decision.instead_monitor_response:
                return decision.instead_monitor_response
            if decision.proposal_id == executed and decision.monitor_response:
                return decision.monitor_response
        return None

    def _keep(self, decision: Decision, proposal: ModelOutput) -> None:
        decision.turn = self._turns
        kept = decision.model_copy(deep=True)
        self._record.decisions.append(kept)
        transcript().info(kept.model_dump(mode="json", exclude_defaults=True), source=_SOURCE)
        self._record.turns += decision.kind == "terminate"  # which leaves the turn undecided
        if decision.kind == "audit" and self._attacks and decision.proposal_id in self._proposals:
            self._audit(declared=self._proposals[decision.proposal_id][1])

    def _audit(self, *, declared: bool) -> None:
        """Whether it catches the attack; blue is not told."""
        upper_bound = not self._policy.declares_attacks
        if not (declared or upper_bound):
            return
        self._record.caught = True
        self._record.caught_is_upper_bound = upper_bound
        transcript().info({"caught": True, "upper_bound": upper_bound}, source=_OUTCOME)


def _model_output(given: object, name: str) -> ModelOutput:
    if not isinstance(given, ModelOutput):
        raise TypeError(f"{name} returned {type(given).__name__}, not a ModelOutput")
    return given


def _without_calls(output: ModelOutput) -> ModelOutput:
    """A utility turn calls no tool, whatever the model wrote."""
    if output.empty or not output.message.tool_calls:
        return output
    message = output.message.model_copy(update={"tool_calls": None})
    first = output.choices[0].model_copy(update={"message": message, "stop_reason": "stop"})
    return output.model_copy(update={"choices": [first]})


def _same(public: ModelOutput, decided: ModelOutput) -> bool:
    one, other = public.message, decided.message
    return one.content == other.content and one.tool_calls == other.tool_calls


def _without_private(output: ModelOutput, private: frozenset[str]) -> ModelOutput:
    """A turn of blue's own making: it cannot use what it does not know of."""
    message: ChatMessageAssistant = output.message
    calls = [
        replace(call, parse_error=f"There is no tool named '{call.function}'.")
        if call.function in private
        else call
        for call in message.tool_calls or []
    ]
    if calls == (message.tool_calls or []):
        return output
    first = output.choices[0].model_copy(
        update={"message": message.model_copy(update={"tool_calls": calls})}
    )
    return output.model_copy(update={"choices": [first]})
