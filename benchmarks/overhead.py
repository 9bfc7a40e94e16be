"""What Control Tower adds to a bare Inspect eval, and how well samples overlap.

Run by hand: `python benchmarks/overhead.py [--samples 200] [--rounds 3]`. It prints ratios
measured in one run, Control Tower and bare Inspect in turn:

- no-op samples in `bwrap`: a bare eval with the same sandbox, set-up, tool calls, scorer and
  concurrency, against the same samples through pytest;
- samples of one second of simulated work, 25 at once.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from support.environments import EnvironmentFiles, main_task  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        EnvironmentFiles(main={"fix": main_task()}, side={}).write(place / "environments")
        overhead(place, options.samples, options.at_once, options.rounds)
        overlap(place, samples=100, at_once=25)


def overhead(place: Path, samples: int, at_once: int, rounds: int) -> None:
    wall: list[float] = []
    cpu: list[float] = []
    for number in range(rounds):
        bare = timed(bare_command(samples, at_once, place / f"bare{number}"), place)
        ours = timed(control_command("noop", samples, at_once), place)
        wall.append(ours[0] / bare[0])
        cpu.append(ours[1] / bare[1])
        print(
            f"round {number + 1}: bare {bare[0]:.2f} s wall {bare[1]:.2f} s cpu; "
            f"control tower {ours[0]:.2f} s wall {ours[1]:.2f} s cpu; a sample: "
            f"{1000 * ours[0] / samples:.0f} ms wall {1000 * ours[1] / samples:.0f} ms cpu"
        )
    print(
        f"{samples} no-op samples, {at_once} at once, whole processes, control tower / bare: "
        f"wall {statistics.median(wall):.2f} (min {min(wall):.2f}, max {max(wall):.2f}), "
        f"cpu {statistics.median(cpu):.2f} (min {min(cpu):.2f}, max {max(cpu):.2f})"
    )


def overlap(place: Path, samples: int, at_once: int) -> None:
    sleeps = ["--ct-untrusted-policy-arg=seconds=1"]
    start_up = timed(control_command("support.policies:sleeps", 1, at_once, *sleeps), place)[0] - 1
    whole = timed(control_command("support.policies:sleeps", samples, at_once, *sleeps), place)[0]
    print(
        f"{samples} samples of 1 s simulated work, {at_once} at once: {whole - start_up:.2f} s "
        f"plus {start_up:.2f} s start-up (no less than {samples / at_once:.0f} s is possible)"
    )


def control_command(policy: str, samples: int, at_once: int, *more: str) -> list[str]:
    return [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--ct-env=mini"),
        *("--ct-main-task=fix", "--ct-sandbox=bwrap", f"--ct-untrusted-policy={policy}"),
        *(f"--ct-epochs={samples}", f"--ct-max-samples={at_once}", *more),
    ]


def bare_command(samples: int, at_once: int, log_dir: Path) -> list[str]:
    settings = json.dumps({"samples": samples, "at_once": at_once, "log_dir": str(log_dir)})
    return [sys.executable, str(Path(__file__).with_name("bare_eval.py")), settings]


def timed(command: list[str], place: Path) -> tuple[float, float]:
    """Wall and CPU seconds of a whole process with its children."""
    environment = {
        **os.environ,
        "CT_ENVIRONMENTS_PATH": str(place / "environments"),
        "CT_STATE_DIR": str(place / "state"),
        "PYTHONPATH": str(TESTS),
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    wall = time.perf_counter() - started
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


if __name__ == "__main__":
    main()
