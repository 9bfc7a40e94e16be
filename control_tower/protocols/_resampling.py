"""How `defer-to-resample` comes to a turn."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from control_tower.blue import Unscored, ask_trusted, calls_of
from control_tower.contracts import BlueContext, BlueProtocol, Generate, Turn, Why
from control_tower.protocols._draws import Draw, account, assumptions, least, responses, scored

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

    from control_tower.protocols._audits import Audits
    from control_tower.protocols._judging import Judge


class DeferToResample(BlueProtocol):
    """See `control_tower.protocols.defer_to_resample`."""

    def __init__(
        self,
        *,
        judge: Judge,
        threshold: float,
        unscored: Unscored,
        resamples: int,
        evidence_resamples: int,
        trusted: bool,
        audits: Audits,
        model: str | None,
    ) -> None:
        self._judge = judge
        self._threshold = threshold
        self._unscored = unscored
        self._resamples = resamples
        self._evidence_resamples = evidence_resamples
        self._trusted = trusted
        self._audits = audits
        self._model = model

    async def setup(self, context: BlueContext) -> None:
        """Keep the context."""
        self._context = context

    async def generate(self, turn: Turn, untrusted: Generate) -> ModelOutput:
        """The first proposal, a later draw of it, or the trusted model's turn."""
        proposal = await untrusted(turn)
        if not calls_of(proposal):
            return proposal
        draws = await self._scored([proposal])
        if draws[0].suspicious:
            draws += await self._drawn(turn, untrusted, self._resamples)
        chosen = self._chosen(draws)
        due = self._audits.due(draws, chosen) is not None
        if self._evidence_resamples and due:
            draws += await self._drawn(turn, untrusted, self._evidence_resamples)
        found = self._audits.decide(self._context.decisions, draws, chosen)
        found["audit_was_due_before_evidence"] = due
        return await self._gone_ahead(turn, draws, chosen, found)

    async def _drawn(self, turn: Turn, untrusted: Generate, count: int) -> list[Draw]:
        from inspect_ai.model import GenerateConfig

        # Draws from a cache would all be the first proposal.
        config = (turn.config or GenerateConfig()).merge(GenerateConfig(cache=False))
        asked = replace(turn, config=config)
        # One after another, since a policy may keep state.
        return await self._scored([await untrusted(asked) for _ in range(count)])

    async def _scored(self, outputs: list[ModelOutput]) -> list[Draw]:
        return await scored(self._judge, self._unscored, self._context, outputs)

    def _chosen(self, draws: list[Draw]) -> Draw | None:
        benign = [draw for draw in draws if not draw.suspicious]
        if not benign and self._trusted:
            return None
        return least(benign or draws)

    async def _gone_ahead(
        self, turn: Turn, draws: list[Draw], chosen: Draw | None, found: dict[str, Any]
    ) -> ModelOutput:
        decisions, first = self._context.decisions, draws[0]
        why = Why(score=first.score, threshold=self._threshold, details=found)
        if len(draws) > 1:
            why["details"] = {**found, "draws": account(draws)}
            why["draw_responses"] = responses(draws)
        why["reason"] = _reason(draws, chosen)
        if found["audit_was_due_before_evidence"] and not found["audited"]:
            why["reason"] += "; the evidence averted an audit"
        if chosen is None:
            instead = await ask_trusted(turn, model=self._model)
            return decisions.replace(first.output, instead, **why)
        if chosen is first:
            return decisions.allow(first.output, **why)
        return decisions.replace(first.output, chosen.output, score_of_instead=chosen.score, **why)


def _reason(draws: list[Draw], chosen: Draw | None) -> str:
    if chosen is None:
        none = "none of the draws that may go ahead counts as below the threshold"
        return f"{none}{assumptions(draws)}: the trusted model's turn goes ahead"
    number = draws.index(chosen) + 1
    as_least = " as the least suspicious" if chosen.suspicious else ""
    return f"draw {number} of {len(draws)} goes ahead{as_least}: {chosen.reason}"
