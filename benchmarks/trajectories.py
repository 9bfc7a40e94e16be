"""How long `ct traj list` takes with 1,000 trajectories, and how much memory a large log takes.

    python benchmarks/trajectories.py

Prints seconds of whole processes, and the peak memory of each (the greatest resident set), which is
to be seen beside that of `ct --help`.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from control_tower.trajectories.exporting.inspect_logs import write_inspect_log
from control_tower.trajectories.schema import (
    Action,
    EnvironmentRecord,
    MainTaskRecord,
    ScoreRecord,
    Trajectory,
)
from control_tower.trajectories.store import TrajectoryStore

_MANY = 1_000
_LOG_SAMPLES = 20
_ACTIONS = 40
_OUTPUT = 256 * 1024
"""Characters of an action's output, in the log: 20 samples of 40 such are over 200 MB."""
_ROUNDS = 3
_MEASURE = """
import os, resource, subprocess, sys, time
began = time.monotonic()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
took = time.monotonic() - began
print(took, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A small parent: a child's peak counts what it had of its parent when it was forked."""


def main() -> None:
    """Make the recordings, and measure."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        _measure("ct --help", place)
        for number in range(_MANY):
            _store(place / "one" / "2026-01-01_run", number)
        _measure("ct traj list --log-dir one", place)
        for number in range(_MANY):
            _store(place / "many" / f"2026-01-01_run{number:04}", number)
        _measure("ct traj list --log-dir many", place)
        write_inspect_log(place / "large.eval", [_large(n) for n in range(_LOG_SAMPLES)])
        size = _unpacked(place / "large.eval")
        print(f"large.eval: {size / 1e6:.0f} MB of samples, {_LOG_SAMPLES} of them")
        _measure("ct traj list large.eval", place)
        _measure("ct traj show large.eval --sample-id shop/task-007/-", place)


def _measure(line: str, place: Path) -> None:
    command = [sys.executable, "-m", "control_tower.cli", *line.split()[1:]]
    times, peak = [], 0
    for _ in range(_ROUNDS):
        done = subprocess.run(
            [sys.executable, "-S", "-c", _MEASURE, *command],
            cwd=place,
            env={**os.environ, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=True,
        )
        seconds, kilobytes = done.stdout.split()
        times.append(float(seconds))
        peak = max(peak, int(kilobytes))
    print(f"{line:55} {min(times):6.2f} s (median {sorted(times)[1]:.2f}) {peak / 1024:6.0f} MB")


def _store(run: Path, number: int) -> None:
    trajectory = _trajectory(number, actions=10, output=200)
    TrajectoryStore(run).write(trajectory, sample_id=f"shop/task-{number:03}/-")


def _large(number: int) -> Trajectory:
    return _trajectory(number, actions=_ACTIONS, output=_OUTPUT)


def _trajectory(number: int, *, actions: int, output: int) -> Trajectory:
    draw = random.Random(number)
    return Trajectory(
        trajectory_id=f"{draw.getrandbits(80):020x}",
        run_id=f"run{number:04}",
        sample_id=f"shop/task-{number:03}/-",
        recorded_at=time.time(),
        environment=EnvironmentRecord(id="shop"),
        main_task=MainTaskRecord(id=f"task-{number:03}"),
        main_task_success=True,
        scores={"main": ScoreRecord(success=True)},
        actions=[
            Action(
                index=n,
                turn=n,
                function="bash",
                arguments={"command": f"cat file{n}"},
                output="".join(draw.choices("abcdefgh \n", k=output)),
            )
            for n in range(actions)
        ],
        policy="honest",
        protocol="trusted-monitoring",
    )


def _unpacked(log: Path) -> int:
    with zipfile.ZipFile(log) as archive:
        return sum(info.file_size for info in archive.infolist())


if __name__ == "__main__":
    main()
