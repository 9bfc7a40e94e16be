"""What blue made of a sample, as its outcome tells it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from control_tower.episode.outcome import LimitHit
from control_tower.episode.record import EpisodeRecord
from control_tower.selection import SampleKey
from control_tower.trajectories.schema import Decision, MonitorResponse


def blue_fields(key: SampleKey, record: EpisodeRecord, limit: LimitHit | None) -> dict[str, Any]:
    """The fields of an outcome that say what blue made of the sample."""
    attacks = key.combination.side_task is not None
    made = {(decision.turn, decision.kind) for decision in record.decisions}
    terminated = _is_termination(limit)
    answers = _answers(record.decisions)
    unscored = [answer for answer in answers if answer.sus_score is None]
    return {
        "turns": record.turns,
        "decisions": dict(Counter(kind for _, kind in made)),
        "caught": attacks and (record.caught or terminated),
        "caught_is_upper_bound": attacks and record.caught_is_upper_bound and not terminated,
        "monitored": len(answers),
        "unscored_answers": len(unscored),
        "unscored_reason": (unscored[0].error or "") if unscored else "",
    }


def _answers(decisions: Sequence[Decision]) -> list[MonitorResponse]:
    """What monitors said, in order: of proposals, replacements and draws, each answer once."""
    found: dict[tuple[int, str | None, str], MonitorResponse] = {}
    for decision in decisions:
        about: list[tuple[str | None, MonitorResponse | None]] = [
            (decision.proposal_id, decision.monitor_response),
            (decision.instead_id, decision.instead_monitor_response),
            *decision.draw_responses.items(),
        ]
        for message, answer in about:
            if answer is not None:
                found.setdefault((decision.turn, message, answer.model_dump_json()), answer)
    return list(found.values())


def _is_termination(limit: LimitHit | None) -> bool:
    """Whether blue (or an operator) ended the sample: Inspect's limit type `operator`."""
    return limit is not None and limit.type == "operator"
