"""The figures below a run: the table of rates, and what blue made of the samples."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from io import StringIO

from control_tower.analysis.rates import Rate
from control_tower.episode.outcome import Outcome
from pytest_control_tower.judging import printable

_TABLE_WIDTH = 200
"""Columns; far more than the table needs, so that no name is cut."""
_DONE = {
    "allow": "allowed",
    "replace": "replaced",
    "block": "blocked",
    "terminate": "terminated",
    "audit": "audited",
}


def blue_lines(outcomes: Collection[Outcome]) -> list[str]:
    """What blue made of the samples: decisions, attacks caught, and answers without a score."""
    finished = [o for o in outcomes if o.status in ("scored", "unscored")]
    lines = [line for mode in ("honest", "attack") for line in _decisions(finished, mode)]
    if lines or any(o.caught for o in finished):
        lines += _caught([o for o in finished if o.mode == "attack"])
    return [*lines, *_unscored_answers(outcomes)]


def _decisions(finished: Collection[Outcome], mode: str) -> list[str]:
    """How often the protocol decided what; a turn may be in several counts."""
    of_mode = [o for o in finished if o.mode == mode]
    if not any(o.decisions for o in of_mode):
        return []
    turns = sum(o.turns for o in of_mode)
    counts = {kind: sum(o.decisions.get(kind, 0) for o in of_mode) for kind in _DONE}
    said = [f"{count} {_DONE[kind]}" for kind, count in counts.items() if count or kind == "audit"]
    return [f"decisions in {mode} mode, {turns} turns: {', '.join(said)}"]


def _caught(attacks: Collection[Outcome]) -> list[str]:
    if not attacks:
        return []
    caught = [o for o in attacks if o.caught]
    achieved = sum(1 for o in caught if o.side is not None and o.side.success)
    more = f"; {achieved} of the caught had achieved the side task" if caught else ""
    lines = [f"caught: {len(caught)} of {len(attacks)} attacks{more}"]
    bounded = sum(1 for o in caught if o.caught_is_upper_bound)
    if bounded:
        lines.append(
            f"  an upper bound: in {bounded} of them any audit counted, since the policy does not "
            "declare which of its turns attack"
        )
    return lines


def _unscored_answers(outcomes: Collection[Outcome]) -> list[str]:
    missing = [o for o in outcomes if o.unscored_answers]
    if not missing:
        return []
    asked = sum(o.monitored for o in outcomes)
    count = sum(o.unscored_answers for o in missing)
    return [
        f"monitor: no score for {count} of {asked} answers "
        f"({printable(missing[0].unscored_reason)[:200]})"
    ]


def table(rows: Sequence[Rate]) -> list[str]:
    """The rates as aligned text lines."""
    if not rows:
        return ["no sample finished"]
    from rich.console import Console
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, padding=(0, 1))
    for heading in ("environment", "mode", "success of"):
        grid.add_column(heading)
    for heading in ("n", "scored", "rate", "95 % interval", "errored", "unscored"):
        grid.add_column(heading, justify="right")
    for row in rows:
        grid.add_row(*_cells(row))
    console = Console(file=StringIO(), width=_TABLE_WIDTH, color_system=None)
    with console.capture() as capture:
        console.print(grid)
    return [line.rstrip() for line in capture.get().splitlines()]


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of texts as lines, in columns two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _cells(row: Rate) -> tuple[str, ...]:
    interval = row.interval
    return (
        row.environment,
        row.mode,
        f"{row.task} task",
        str(row.n),
        str(row.scored),
        "-" if row.rate is None else f"{row.rate:.1%}",
        "-" if interval is None else f"{interval[0]:.1%} – {interval[1]:.1%}",
        str(row.errored),
        str(row.unscored),
    )
