"""Runs that are killed at random moments, two at once: nothing is left once a next one has started.

What happens depends on two variables, so that it can be gone through for longer by hand:

- `CT_LEAK_ROUNDS` (3): how many times each of the two runs is killed, and started again.
- `CT_LEAK_SEED` (random): of the kills. It is printed; the same seed gives the same kills, which
  do not fall on the same instant.

    CT_LEAK_ROUNDS=10 python -m pytest -s tests/e2e/test_leaks.py
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.harried import HarriedRun, random_kills
from support.kills import until
from support.leaks import LeakRun
from support.remains import Remains

from control_tower.sandboxes.inventory import clean

pytestmark = [pytest.mark.docker, pytest.mark.slow]

SEED = os.environ.get("CT_LEAK_SEED") or str(random.randrange(10**6))
ROUNDS = int(os.environ.get("CT_LEAK_ROUNDS", "3"))
LEAST = 30
"""Samples that each of the two runs starts at least."""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state directory; a test that failed leaves nothing either."""
    place = tmp_path.resolve() / "state"
    monkeypatch.setenv("CT_STATE_DIR", str(place))
    yield place
    clean()


def test_random_kills_of_two_runs_at_once(tmp_path: Path, state: Path) -> None:
    began, remains = time.monotonic(), Remains(state)
    kills = random_kills(random.Random(SEED), 2 * ROUNDS)
    harried = [
        HarriedRun(tmp_path / "alone", state, kills[::2], workers=0, least=LEAST),
        HarriedRun(tmp_path / "n2", state, kills[1::2], workers=2, least=LEAST),
    ]
    with remains.watched():
        _harry_beside_another(harried, remains, tmp_path)
    problems = [problem for run in harried for problem in run.problems]
    with LeakRun(tmp_path / "last", state, epochs=2) as last:
        until(lambda: last.started or last.is_over, "the last run's first sample")
        left = remains.of_the_dead(apart_from=last.process.pid)
        problems += [f"left once the next run had started: {thing}" for thing in left]
        assert last.end() == 0, last.output
        last.all_end()
    problems += [f"left when it had ended: {thing}" for thing in remains.of_the_dead()]
    started = sum(run.started for run in harried)
    report = [
        f"CT_LEAK_SEED={SEED} CT_LEAK_ROUNDS={ROUNDS}: {time.monotonic() - began:.0f} s",
        *(line for run in harried for line in run.report),
        f"seen: {remains.seen()}",
        *problems,
    ]
    sys.stdout.write("\n".join(["", *report, ""]))
    assert problems == []
    assert started >= 2 * LEAST


def _harry_beside_another(harried: list[HarriedRun], remains: Remains, place: Path) -> None:
    """A third run holds its first samples until the others were killed once, and is not touched."""
    released = place / "released"
    with (
        LeakRun(place / "beside", remains.state, epochs=6, waits_for=released) as beside,
        ThreadPoolExecutor(len(harried)) as threads,
    ):
        until(lambda: beside.started or beside.is_over, "the first sample of the run beside")
        until(remains.rules, "its rules of the host's firewall")
        assert remains.processes(), "what is looked for is not found while it is there"
        ends = [threads.submit(run.endure) for run in harried]
        until(
            lambda: all(run.killed or end.done() for run, end in zip(harried, ends, strict=True)),
            "the first kill of each",
        )
        released.touch()
        for end in ends:
            end.result()
        assert beside.end() == 0, beside.output
        beside.all_end()
        finished = beside.history().finished.values()
        assert [(o.status, o.attempts) for o in finished] == [("scored", 1)] * 6, beside.output
        assert (beside.without_trajectory(), beside.without_log()) == ([], [])
