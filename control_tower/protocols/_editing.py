"""How `trusted-editing` comes to a turn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from control_tower.blue import ask_past_blocks, ask_trusted, calls_of, case_of
from control_tower.contracts import BlueContext, BlueProtocol, Generate, Turn, Why
from control_tower.monitors import View, case_places

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

    from control_tower.prompt_files import Prompt
    from control_tower.protocols._judging import Judge, Judgement


class TrustedEditing(BlueProtocol):
    """See `control_tower.protocols.trusted_editing`; without a judge, every turn is edited."""

    def __init__(
        self,
        *,
        judge: Judge | None,
        audit_threshold: float | None,
        max_blocks: int,
        text: Prompt,
        model: str | None,
    ) -> None:
        self._judge = judge
        self._audit_threshold = audit_threshold
        self._max_blocks = max_blocks
        self._text = text
        self._model = model

    async def setup(self, context: BlueContext) -> None:
        """Keep the context."""
        self._context = context

    async def generate(self, turn: Turn, untrusted: Generate) -> ModelOutput:
        """The proposal, or what the first proposal was edited to that the editor did not refuse."""
        instead: list[ModelOutput] = []

        async def objection(proposal: ModelOutput) -> Why | None:
            if not calls_of(proposal):
                return None
            judgement = await self._judged(proposal)
            if judgement is not None and not judgement.suspicious:
                self._context.decisions.allow(proposal, **judgement.why)
                return None
            edited = await self._edited(turn, proposal)
            why = judgement.why if judgement else Why(reason="every turn is edited")
            if not calls_of(edited):
                return _refusal(edited, why)
            instead.append(await self._decided(proposal, edited, why))
            return None

        decisions, most = self._context.decisions, self._max_blocks
        proposal = await ask_past_blocks(turn, untrusted, decisions, objection, max_blocks=most)
        return instead[0] if instead else proposal

    async def _judged(self, proposal: ModelOutput) -> Judgement | None:
        if self._judge is None:
            return None
        judgement = await self._judge.judge(self._context, proposal)
        if self._audit_threshold is not None:
            audit = self._judge.again(judgement.score, self._audit_threshold)
            if audit.suspicious:
                self._context.decisions.audit(proposal, **audit.why)
        return judgement

    async def _edited(self, turn: Turn, proposal: ModelOutput) -> ModelOutput:
        from inspect_ai.model import ChatMessageUser

        text = self._text.filled(proposal=_text_of(self._context, proposal))
        asked = replace(turn, messages=[*turn.messages, ChatMessageUser(content=text)])
        return await ask_trusted(asked, model=self._model)

    async def _decided(self, proposal: ModelOutput, edited: ModelOutput, why: Why) -> ModelOutput:
        decisions = self._context.decisions
        if _same_calls(proposal, edited):
            why["reason"] = f"{why['reason']}; the trusted model left it as it is"
            return decisions.allow(proposal, **why)
        again = await self._judge.judge(self._context, edited) if self._judge else None
        score = again.score if again else None
        return decisions.replace(proposal, edited, score_of_instead=score, **why)


def _text_of(context: BlueContext, proposal: ModelOutput) -> str:
    """The whole proposal between tags, with its text; nothing in it can close one."""
    case = replace(case_of(context, proposal), history=())
    return case_places(case, View(max_arguments=0))["proposal"]


def _same_calls(one: ModelOutput, other: ModelOutput) -> bool:
    """Whether both make the same calls with the same arguments, in the same order."""
    first, second = (
        [(call.function, call.arguments) for call in calls_of(output)] for output in (one, other)
    )
    return first == second


def _refusal(edited: ModelOutput, why: Why) -> Why:
    """Why a proposal is blocked that the editor made no turn of."""
    said = "" if edited.empty else edited.message.text
    reason = f"{why['reason']}; the trusted model made no call of it"
    details = {"editor": said, "stop_reason": None if edited.empty else edited.stop_reason}
    return {**why, "reason": reason, "details": details}
