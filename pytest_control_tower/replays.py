"""What replays came to beside their recordings: scores old and new, and where outputs part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from control_tower.episode.outcome import Outcome
from control_tower.trajectories.comparing import success_text
from control_tower.trajectories.excerpts import around_difference, first_differing_lines
from control_tower.trajectories.schema import Divergence, ReplayRecord
from pytest_control_tower.figures import aligned
from pytest_control_tower.judging import printable

_HEADINGS = ("replay", "task", "recorded", "now", "actions replayed", "outputs")
_SHOWN = 160
"""Characters of a line in which outputs part."""
_LISTED = 10
"""Divergences that are shown."""


def replay_lines(outcomes: Iterable[Outcome]) -> list[str]:
    """A table of the samples that replayed something, and the first difference of each.

    Empty if none did.
    """
    replays = [(o, o.replay) for o in outcomes if o.replay is not None]
    if not replays:
        return []
    rows = [row for outcome, replay in replays for row in _rows(outcome, replay)]
    parted = [(o.sample_id, r.divergence) for o, r in replays if r.divergence is not None]
    lines = aligned([_HEADINGS, *rows])
    for sample_id, divergence in parted[:_LISTED]:
        lines += _difference(sample_id, divergence)
    if len(parted) > _LISTED:
        lines.append(f"… ({len(parted) - _LISTED} more replays whose outputs differ)")
    return lines


def _rows(outcome: Outcome, replay: ReplayRecord) -> Iterable[Sequence[str]]:
    for task in ("main", "side"):
        result, recorded = outcome.result(task), replay.scores.get(task)
        if result is None and recorded is None:
            continue
        now = "-" if result is None else success_text(result.success)
        if result is not None and result.recorded:
            now += " (recorded)"
        yield (
            outcome.sample_id,
            task,
            "-" if recorded is None else success_text(recorded.success),
            now,
            f"{replay.replayed} of {replay.actions}",
            _outputs(replay),
        )


def _outputs(replay: ReplayRecord) -> str:
    if replay.answered:
        return "recorded ones"
    if replay.divergence is None:
        return "the same"
    if replay.divergence.part == "call":
        return f"the same; another call in step {replay.divergence.action}"
    return f"differ from step {replay.divergence.action} on"


def _difference(sample_id: str, divergence: Divergence) -> list[str]:
    """Where a replay's outputs part from the recorded ones, with the first line that differs."""
    what = {"output_error": "error"}.get(divergence.part, divergence.part)
    old, new = _first_difference(divergence.recorded, divergence.actual)
    return [
        f"{sample_id}: the {what} of step {divergence.action} is another one",
        f"  recorded: {old}",
        f"  now:      {new}",
    ]


def _first_difference(recorded: str | None, actual: str | None) -> tuple[str, str]:
    if recorded is None or actual is None:
        one, other = around_difference(recorded, actual, most=_SHOWN)
        return _shown(one, "(none)"), _shown(other, "(none)")
    _, old, new = first_differing_lines(recorded, actual, most=_SHOWN)
    return _shown(old, "(it ends here)"), _shown(new, "(it ends here)")


def _shown(text: str | None, none: str) -> str:
    return none if text is None else printable(text)
