"""Runs and workers that are killed at chosen moments: nothing is left, and nothing is lost.

All cells of the matrix are run by hand, by `benchmarks/kill_matrix.py`; here are a few of them.
"""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest
from support.kills import Cell, Ended, KilledRun, problems_of

pytestmark = pytest.mark.slow

INT, TERM, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL
IN_BWRAP = [
    Cell("bwrap", 0, "run", KILL, "provisioning"),
    Cell("bwrap", 0, "run", INT, "start"),
    Cell("bwrap", 2, "run", KILL, "working"),
    Cell("bwrap", 2, "run", INT, "scoring"),
    Cell("bwrap", 2, "run", TERM, "start"),
    Cell("bwrap", 2, "worker", KILL, "any"),
    Cell("bwrap", 2, "worker", TERM, "working"),
]
IN_DOCKER = [
    Cell("docker", 0, "run", KILL, "provisioning"),
    Cell("docker", 0, "run", KILL, "any"),
    Cell("docker", 0, "run", INT, "provisioning"),
    Cell("docker", 0, "run", TERM, "stopping"),
    Cell("docker", 2, "run", KILL, "working"),
    Cell("docker", 2, "worker", KILL, "any"),
]


@pytest.mark.parametrize(
    "cell",
    [
        *(pytest.param(cell, id=cell.id) for cell in IN_BWRAP),
        *(pytest.param(cell, id=cell.id, marks=pytest.mark.docker) for cell in IN_DOCKER),
    ],
)
def test_nothing_is_left_and_nothing_lost(tmp_path: Path, cell: Cell) -> None:
    assert problems_of(cell, KilledRun(tmp_path, cell).end()) == []


@pytest.mark.docker
def test_two_runs_at_once_do_not_touch_each_other(tmp_path: Path) -> None:
    """One is killed, and the one that follows it cleans up, while the other works."""
    killed = Cell("docker", 0, "run", KILL, "working")
    undisturbed = Cell("docker", 2, "run", None, "start")
    ended: dict[Cell, Ended] = {}
    state = tmp_path / "state"

    def run(cell: Cell) -> None:
        place = tmp_path / cell.id
        place.mkdir()
        ended[cell] = KilledRun(place, cell, state=state).end()

    threads = [threading.Thread(target=run, args=(cell,)) for cell in (killed, undisturbed)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended[undisturbed].code == 0, ended[undisturbed].output
    assert len(ended[undisturbed].history.finished) == 6
    assert all(o.attempts == 1 for o in ended[undisturbed].history.finished.values())
    assert ended[killed].next_code == 0, ended[killed].next_output
