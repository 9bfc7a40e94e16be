"""Time and peak memory of selecting and collecting very many combinations.

python benchmarks/selection.py [--mains 250] [--sides 399]

Makes an environment in which every side task goes with every main task, so that there are
mains * (sides + 1) combinations, and starts a process that selects them, one that collects them as
pytest items, and, for comparison, one that selects and collects a single combination.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.environments import EnvironmentFiles, main_task, side_task

from control_tower.task_sets import Entry, write_task_set

SELECT = """
from control_tower.components import find_component
from control_tower.environments.discovery import Catalog
from control_tower.run_options import RunOptions
from control_tower.selection import select
options = RunOptions.from_values(ASKED, front_end="ct")
policy = find_component("policy", "reference", flag="policy")
print(len(select(options, Catalog.discover(), policy).combinations), "combinations")
"""
ITEMS = ["--ct-env=many", "--ct-untrusted-policy=reference", "--ct-sandbox=bwrap", "--co", "-qq"]


def main() -> None:
    """Generate, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mains", type=int, default=250)
    parser.add_argument("--sides", type=int, default=399)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        EnvironmentFiles(
            name="many",
            main={f"m{number:04}": main_task() for number in range(options.mains)},
            side={f"s{number:04}": side_task() for number in range(options.sides)},
        ).write(Path(place))
        os.environ["CT_ENVIRONMENTS_PATH"] = place
        os.chdir(place)
        pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *ITEMS]
        pairs = product(range(options.mains), range(options.sides))
        entries = (
            Entry(env="many", main_task=f"m{main:04}", side_task=f"s{side:04}")
            for main, side in pairs
        )
        write_task_set(Path(place) / "set.jsonl", entries)
        for what, asked in (
            ("select all", {"env": ["many"], "all": True}),
            ("select a set", {"task_file": f"{place}/set.jsonl"}),
        ):
            measure(what, [sys.executable, "-c", SELECT.replace("ASKED", repr(asked))])
        measure("collect one", [*pytest, "--ct-env-only"])
        measure("collect all", [*pytest, "--ct-all"])


def measure(what: str, command: list[str]) -> None:
    """Run a command, and print its time and the largest memory of any command so far."""
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - began
    last = (done.stdout.strip().splitlines() or ["nothing printed"])[-1]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{what:12}  {seconds:6.1f} s  {peak:6.0f} MiB  exit {done.returncode}  {last[:100]}")
    if done.returncode:
        print(done.stderr[-1000:])


if __name__ == "__main__":
    main()
