"""What came of a run, as lines for a reader: scores, error, limit, usage, the replay's report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from control_tower.trajectories.comparing import success_text
from control_tower.trajectories.excerpts import first_differing_lines, shortened
from control_tower.trajectories.schema import (
    LimitRecord,
    ReplayRecord,
    ScoreRecord,
    Trajectory,
    UsageRecord,
)

_LINES = 40
"""Lines of a text that are shown, unless all are wanted: the first and the last ones."""
_COLUMNS = 400
"""Characters of such a line."""


def result_lines(t: Trajectory, *, full: bool) -> Iterator[str]:
    """The outcome, the scores and the rest, line by line.

    Args:
        t: what to show.
        full: texts whole, however long.
    """
    yield ""
    caught = ", caught (an upper bound)" if t.caught_is_upper_bound else ", caught"
    yield f"outcome: {t.outcome}{caught if t.caught else ''}"
    for task, score in t.scores.items():
        yield f"{task} task: {_score(score)}"
        if score.explanation:
            yield from (f"    {line}" for line in text_lines(score.explanation, full=full))
    yield from _foreign_scores(t.metadata.get("inspect_scores"), full=full)
    whole = {"error": t.error or "", "final message": t.final_message}
    texts = {name: "\n".join(text_lines(text, full=full)) for name, text in whole.items()}
    yield from aligned(
        {
            "error": texts["error"],
            "ended by": _limit(t.limit),
            "attempts": str(t.attempts) if t.attempts > 1 else "",
            **_earlier(t),
            "tokens": ", ".join(_usage(role, usage) for role, usage in t.usage.items()),
            "final message": texts["final message"],
            "log": t.log or "",
            "versions": ", ".join(f"{name} {value[:12]}" for name, value in t.versions.items()),
        }
    )
    if t.replay is not None:
        yield from _replay(t, t.replay)


def text_lines(text: str, *, full: bool) -> list[str]:
    """The lines of a text; of a long one, what is shown of it."""
    if full:
        return text.rstrip("\n").split("\n")
    return shortened(text, lines=_LINES, columns=_COLUMNS)


def aligned(rows: Mapping[str, str]) -> Iterator[str]:
    """Names and values in two columns, without those that have none."""
    for name, text in rows.items():
        if text and text != "-":
            first, *more = text.split("\n")
            yield f"{name + ':':<14} {first}"
            yield from (f"{'':<14} {line}" for line in more)


def _score(score: ScoreRecord) -> str:
    notes = {
        "recorded": score.recorded,
        "no clear verdict": score.no_verdict,
        "no scorer": score.no_scorer,
    }
    said = [note for note, holds in notes.items() if holds]
    return success_text(score.success) + (f" ({', '.join(said)})" if said else "")


def _foreign_scores(scores: Any, *, full: bool) -> Iterator[str]:
    """Those of an Inspect log that is not ours, by name."""
    if not isinstance(scores, dict):
        return
    for name, score in scores.items():
        if not isinstance(score, dict):
            continue
        yield f"score {name}: {score.get('value')}"
        if score.get("explanation"):
            yield from (f"    {line}" for line in text_lines(str(score["explanation"]), full=full))


def _limit(limit: LimitRecord | None) -> str:
    if limit is None:
        return ""
    size = "" if limit.limit is None else f" of {limit.limit:g}"
    reason = " ".join(limit.reason.split())
    return f"{limit.type} limit{size}" + (f": {reason}" if reason else "")


def _earlier(t: Trajectory) -> dict[str, str]:
    """The errors of earlier attempts, by number."""
    return {
        f"attempt {number}": " ".join(attempt.error.split())[:_COLUMNS]
        for number, attempt in enumerate(t.earlier_attempts, start=1)
    }


def _usage(role: str, usage: UsageRecord) -> str:
    cost = "" if usage.total_cost is None else f", ${usage.total_cost:.4g}"
    parts = f"{usage.input_tokens} in, {usage.output_tokens} out{cost}"
    return f"{role} {usage.total_tokens} ({parts})"


def _replay(t: Trajectory, replay: ReplayRecord) -> Iterator[str]:
    yield ""
    run = f" (run {replay.run_id})" if replay.run_id else ""
    yield (
        f"replay of {replay.trajectory_id}{run}: {replay.replayed} of {replay.actions} recorded "
        "actions" + (", outputs as recorded" if replay.answered else "")
    )
    for task in dict.fromkeys([*replay.scores, *t.scores]):
        old, new = replay.scores.get(task), t.scores.get(task)
        before = "-" if old is None else success_text(old.success)
        now = "-" if new is None else success_text(new.success)
        yield f"    {task} task: recorded {before}, now {now}"
    divergence = replay.divergence
    if divergence is None:
        return
    what = {"output_error": "error"}.get(divergence.part, divergence.part)
    number, old_line, new_line = first_differing_lines(
        divergence.recorded or "", divergence.actual or ""
    )
    yield f"    the {what} of step {divergence.action} is another one, from line {number or 1} on:"
    yield f"        recorded: {old_line if old_line else '(nothing)'}"
    yield f"        now:      {new_line if new_line else '(nothing)'}"
