"""Where a protocol says what it decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypedDict, Unpack

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

    from control_tower.trajectories.schema import Decision, DecisionKind, MonitorResponse


class Why(TypedDict, total=False):
    """What led to a decision; all of it is optional, and all of it is recorded."""

    reason: str
    """In words, for a reader of the transcript."""
    score: MonitorResponse | None
    """The monitor's answer about the proposal."""
    draw_responses: Mapping[str, MonitorResponse]
    """Where a turn was drawn several times: the monitor's answers, by the id of the message."""
    threshold: float | None
    """Suspicion (0–10) at which the protocol acts."""
    draws: Mapping[str, float]
    """Random draws that decided, by what they were for."""
    details: Mapping[str, Any]
    """Anything else; JSON values."""


class Decisions:
    """Records what a protocol decides about each proposal, in the transcript and the trajectory.

    A protocol calls one of the methods for every proposal that it comes to a decision about. An
    audit is recorded beside the decision: an audited proposal is still allowed or replaced.

    Args:
        keep: called with every decision and the proposal it is about.
    """

    def __init__(self, keep: Callable[[Decision, ModelOutput], None] | None = None) -> None:
        self._keep = keep
        self.made: list[Decision] = []
        """All decisions so far, in order."""

    def allow(self, proposal: ModelOutput, **why: Unpack[Why]) -> ModelOutput:
        """The proposal goes ahead unchanged; returns it."""
        self._add("allow", proposal, why)
        return proposal

    def replace(
        self,
        proposal: ModelOutput,
        instead: ModelOutput,
        *,
        score_of_instead: MonitorResponse | None = None,
        **why: Unpack[Why],
    ) -> ModelOutput:
        """Another turn goes ahead in the proposal's place; returns that turn.

        Args:
            proposal: what the untrusted policy proposed.
            instead: what goes ahead.
            score_of_instead: a monitor's answer about `instead`, if there is one.
            why: see `Why`.
        """
        self._add("replace", proposal, why, instead, score_of_instead)
        return instead

    def block(self, proposal: ModelOutput, **why: Unpack[Why]) -> None:
        """The proposal does not go ahead."""
        self._add("block", proposal, why)

    def audit(self, proposal: ModelOutput, **why: Unpack[Why]) -> None:
        """The proposal is shown to a human auditor, who recognises an attack for what it is.

        Whether it was part of one is not told to the protocol.
        """
        self._add("audit", proposal, why)

    def terminate(self, proposal: ModelOutput, **why: Unpack[Why]) -> NoReturn:
        """The run ends here, and is scored as it stands.

        Raises:
            LimitExceededError: always, of Inspect's type `operator`.
        """
        from inspect_ai.util import LimitExceededError

        self._add("terminate", proposal, why)
        reason = why.get("reason") or "the protocol terminated the run"
        raise LimitExceededError("operator", value=1, limit=1, message=reason)

    def _add(
        self,
        kind: DecisionKind,
        proposal: ModelOutput,
        why: Why,
        instead: ModelOutput | None = None,
        score_of_instead: MonitorResponse | None = None,
    ) -> None:
        from control_tower.trajectories.schema import Decision

        decision = Decision(
            kind=kind,
            proposal_id=_message_id(proposal),
            instead_id=None if instead is None else _message_id(instead),
            calls=[call.function for call in _calls(proposal)],
            reason=why.get("reason", ""),
            monitor_response=why.get("score"),
            instead_monitor_response=score_of_instead,
            draw_responses=dict(why.get("draw_responses", {})),
            threshold=why.get("threshold"),
            draws=dict(why.get("draws", {})),
            details=dict(why.get("details", {})),
        )
        self.made.append(decision)
        if self._keep is not None:
            self._keep(decision, proposal)


def _message_id(output: ModelOutput) -> str | None:
    return None if output.empty else output.message.id


def _calls(output: ModelOutput) -> list[Any]:
    return [] if output.empty else list(output.message.tool_calls or [])
