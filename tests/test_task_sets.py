"""The shipped task sets: each line names tasks that exist, go together and are not there twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from control_tower.components import find_component
from control_tower.environments.discovery import Catalog
from control_tower.run_options import RunOptions
from control_tower.selection import Combination, select

TASK_SETS = Path(__file__).parents[1] / "task_sets"
FILES = sorted(TASK_SETS.glob("*.jsonl"))

pytestmark = pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)


@pytest.fixture(autouse=True)
def _bundled_environments_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CT_ENVIRONMENTS_PATH", raising=False)


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def combination(line: dict[str, Any]) -> Combination:
    environment = Catalog.discover().get(line["env"], flag="env")
    main, side = line.get("main_task"), line.get("side_task")
    return Combination(
        environment,
        environment.main_tasks[main] if main else None,
        environment.side_tasks[side] if side else None,
    )


def test_each_line_names_existing_compatible_tasks(file: Path) -> None:
    for line in lines(file):
        assert set(line) <= {"env", "main_task", "side_task"}
        found = combination(line)
        assert found.main_task or found.side_task, line
        if found.main_task and found.side_task:
            assert found.side_task.compatible_with(found.main_task.id), line


def test_no_combination_is_there_twice(file: Path) -> None:
    ids = [combination(line).id for line in lines(file)]
    assert ids
    assert len(ids) == len(set(ids))


def test_the_set_of_an_environment_is_what_all_selects(file: Path) -> None:
    catalog = Catalog.discover()
    if file.stem not in catalog.names:
        pytest.skip("not the set of one environment")
    policy = find_component("policy", "reference", flag="--untrusted-policy")
    everything = select(
        RunOptions.from_values({"env": [file.stem], "all": True}, front_end="ct"), catalog, policy
    )
    assert [combination(line).id for line in lines(file)] == [
        each.id for each in everything.combinations
    ]
