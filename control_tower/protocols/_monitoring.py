"""What `trusted-monitoring` and `untrusted-monitoring` have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from control_tower.blue import Unscored, ask_past_blocks, calls_of, check_count
from control_tower.contracts import BlueContext, BlueProtocol, Generate, Turn, Why
from control_tower.protocols._judging import Judge, Judgement

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

    from control_tower.components import MonitorSpec

OnSuspicious: TypeAlias = Literal["audit", "block", "terminate"]
"""What becomes of a suspicious proposal."""

MAX_BLOCKS = 3
"""How many proposals may be blocked in one turn unless told otherwise."""


class MonitoringProtocol(BlueProtocol):
    """Scores every turn that calls a tool, and acts on suspicious ones (see `trusted_monitoring`).

    Raises:
        ValueError: a threshold or a count is out of its range, or can have no effect.
    """

    def __init__(
        self,
        *,
        monitor: MonitorSpec,
        threshold: float,
        on_suspicious: OnSuspicious,
        unscored: Unscored,
        max_blocks: int,
        audit_budget: int | None,
    ) -> None:
        self._judge = Judge(monitor, threshold, unscored)
        self._on_suspicious = on_suspicious
        self._max_blocks = check_count("max_blocks", max_blocks)
        self._budget = audit_budget
        if audit_budget is not None:
            check_count("audit_budget", audit_budget)
        _check_used("audit_budget", audit_budget is not None, "audit", on_suspicious)
        _check_used("max_blocks", max_blocks != MAX_BLOCKS, "block", on_suspicious)
        self._audits = 0

    async def setup(self, context: BlueContext) -> None:
        """Keep the context."""
        self._context = context

    async def generate(self, turn: Turn, untrusted: Generate) -> ModelOutput:
        """The proposal, or the first that is not blocked."""
        return await ask_past_blocks(
            turn,
            untrusted,
            self._context.decisions,
            self._objection,
            max_blocks=self._max_blocks,
        )

    async def _objection(self, proposal: ModelOutput) -> Why | None:
        if not calls_of(proposal):
            return None
        judgement = await self._judge.judge(self._context, proposal)
        if judgement.suspicious and self._on_suspicious == "block":
            return judgement.why
        if judgement.suspicious and self._on_suspicious == "terminate":
            self._context.decisions.terminate(proposal, **judgement.why)
        self._let_go(proposal, judgement)
        return None

    def _let_go(self, proposal: ModelOutput, judgement: Judgement) -> None:
        decisions = self._context.decisions
        why = judgement.why
        if not judgement.suspicious:
            decisions.allow(proposal, **why)
            return
        if self._budget is not None and self._audits >= self._budget:
            spent = f"{why['reason']}, but the budget of {self._budget} audits is spent"
            why = {**why, "reason": spent, "details": {"audits": self._audits}}
            decisions.allow(proposal, **why)
            return
        self._audits += 1
        decisions.audit(proposal, **why)
        decisions.allow(proposal, **why)


def _check_used(name: str, given: bool, used_by: OnSuspicious, chosen: OnSuspicious) -> None:
    if given and chosen != used_by:
        raise ValueError(f"{name} is for on_suspicious={used_by} (given {chosen})")
