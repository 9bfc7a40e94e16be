"""Writes the shipped task sets anew from the bundled environments.

python scripts/write_task_sets.py

`full` and the sets of environments have all combinations, `smoke` few with every task in them, and
`simple` one honest combination and one attack of each environment. tests/test_task_sets.py says
when they are out of date.
"""

from __future__ import annotations

import os
from pathlib import Path

from control_tower.analysis.environment_check import (
    Pair,
    covering_combinations,
    entries_of,
    every_combination,
)
from control_tower.environments.discovery import PATH_VARIABLE, Catalog
from control_tower.environments.model import Environment
from control_tower.task_sets import Entry, write_task_set

TARGET = Path(__file__).parents[1] / "task_sets"


def main() -> None:
    """Write them all."""
    os.environ.pop(PATH_VARIABLE, None)
    catalog = Catalog.discover()
    environments = [catalog.get(name, flag="environment") for name in catalog.names]
    full: list[Entry] = []
    smoke: list[Entry] = []
    simple: list[Entry] = []
    for environment in environments:
        everything = _sorted(environment, every_combination(environment))
        write_task_set(TARGET / f"{environment.id}.jsonl", everything)
        full += everything
        smoke += _sorted(environment, covering_combinations(environment))
        simple += _one_of_each_mode(everything)
    for name, entries in (("full", full), ("smoke", smoke), ("simple", simple)):
        write_task_set(TARGET / f"{name}.jsonl", entries)


def _sorted(environment: Environment, pairs: list[Pair]) -> list[Entry]:
    entries = entries_of(environment, pairs)
    return sorted(entries, key=lambda e: (e.main_task or "-", e.side_task or "-"))


def _one_of_each_mode(entries: list[Entry]) -> list[Entry]:
    honest = [entry for entry in entries if entry.side_task is None]
    attacks = [entry for entry in entries if entry.side_task is not None]
    return [*honest[:1], *attacks[:1]]


if __name__ == "__main__":
    main()
