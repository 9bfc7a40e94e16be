"""Kills runs and workers at many moments, and prints a table of what is left.

Run by hand: `python benchmarks/kill_matrix.py [--rounds 1] [--sandbox bwrap] [--sandbox docker]`.
Each cell is one run that is killed and one that follows. A cell is `ok` if nothing of the killed
run is left once the next one has ended (SIGKILL), or once it has ended itself (other signals), if
the next run succeeds, and if no finished result was lost.
"""

from __future__ import annotations

import argparse
import itertools
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.kills import MOMENTS, Cell, KilledRun, problems_of

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
TARGETS = (("run", 0), ("run", 2), ("worker", 2))


def main() -> int:
    """Run all cells, and print the table; 1 if something was left or lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--sandbox", action="append", choices=["bwrap", "docker"])
    options = parser.parse_args()
    bad: list[str] = []
    print("| sandbox | killed | signal | " + " | ".join(MOMENTS) + " |")
    print("|---" * (3 + len(MOMENTS)) + "|")
    sandboxes = options.sandbox or ["bwrap", "docker"]
    for sandbox, (target, workers), number in itertools.product(sandboxes, TARGETS, SIGNALS):
        row = []
        for moment in MOMENTS:
            cell = Cell(sandbox, workers, target, number, moment)
            row.append(_entry(cell, options.rounds, bad))
        who = f"{target} of -n {workers}" if workers else "the run"
        print(f"| {sandbox} | {who} | {number.name} | " + " | ".join(row) + " |", flush=True)
    print("\n".join(bad))
    return 1 if bad else 0


def _entry(cell: Cell, rounds: int, bad: list[str]) -> str:
    """What a cell came to: how many rounds were well, the exit codes, the longest end."""
    codes, seconds, well = set(), 0.0, 0
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as place:
            ended = KilledRun(Path(place), cell).end()
        problems = problems_of(cell, ended)
        bad += [f"{cell.id}: {problem}" for problem in problems]
        well += not problems
        codes.add(ended.code)
        seconds = max(seconds, ended.seconds)
    shown = "/".join(map(str, sorted(codes)))
    return f"{'ok' if well == rounds else f'{well} of {rounds}'}, exit {shown}, {seconds:.1f} s"


if __name__ == "__main__":
    sys.exit(main())
