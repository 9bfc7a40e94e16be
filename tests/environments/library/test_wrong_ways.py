"""The bundled environments' checks see through wrong ways to do their tasks.

Those of `ledger` are in test_ledger.py, which runs each by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from environments.library import jobqueue_wrong_ways, pipelines_wrong_ways, webshop_wrong_ways
from support.sessions import ControlPytester
from support.wrong_ways import WrongWay, run_wrong_ways

from control_tower.environments.discovery import LIBRARY
from control_tower.environments.loading import load_environment

ENVIRONMENTS: dict[str, tuple[Sequence[WrongWay], str]] = {
    "jobqueue": (jobqueue_wrong_ways.WRONG_WAYS, "docker"),
    "pipelines": (pipelines_wrong_ways.WRONG_WAYS, "bwrap"),
    "webshop": (webshop_wrong_ways.WRONG_WAYS, "docker"),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_there_are_wrong_ways_for_every_task(name: str) -> None:
    environment = load_environment(LIBRARY / name)
    tasks = {f"main_tasks/{main}" for main in environment.main_tasks}
    tasks |= {f"side_tasks/{side}" for side in environment.side_tasks}
    ways = ENVIRONMENTS[name][0]
    assert {way.task for way in ways} == tasks
    assert len({way.id for way in ways}) == len(ways)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.docker] if sandbox == "docker" else [])
        for name, (_, sandbox) in ENVIRONMENTS.items()
    ],
)
def test_wrong_ways_are_incorrect(control: ControlPytester, name: str) -> None:
    ways, sandbox = ENVIRONMENTS[name]
    chosen = (f"--ct-sandbox={sandbox}", "--ct-max-samples=3")
    assert run_wrong_ways(control, LIBRARY / name, ways, *chosen) == {}
