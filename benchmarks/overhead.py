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

SCORER = """
from pathlib import Path
from control_tower.scoring import check_script
score = check_script(Path(__file__).with_name("check.sh"), interpreter=("sh", "-s"))
"""
CHECK = '[ -e main.txt ] && echo "CORRECT: made" || echo "INCORRECT: not made"\n'
"""A check that costs next to nothing itself: what is measured is everything round it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        task = main_task(scorer=SCORER)
        root = EnvironmentFiles(main={"fix": task}, side={}).write(place / "environments")
        (root / "main_tasks" / "fix" / "check.sh").write_text(CHECK)
        overhead(place, options.samples, options.at_once, options.rounds)
        overlap(place, samples=100, at_once=25, rounds=options.rounds)


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


def overlap(place: Path, samples: int, at_once: int, rounds: int) -> None:
    """Whole runs minus runs of one sample; each run's start-up is measured just before it."""

    def control(count: int, _: int) -> list[str]:
        sleeps = "--ct-untrusted-policy-arg=seconds=1"
        return control_command("support.policies:sleeps", count, at_once, sleeps)

    def bare(count: int, number: int) -> list[str]:
        return bare_command(count, at_once, place / f"bare1s-{number}-{count}", seconds=1)

    found: dict[str, list[tuple[float, float]]] = {"control tower": [], "bare": []}
    for number in range(rounds):
        for name, command in (("control tower", control), ("bare", bare)):
            start_up = timed(command(1, number), place)[0] - 1
            took = timed(command(samples, number), place)[0] - start_up
            found[name].append((took, start_up))
            print(f"round {number + 1}: {name} {took:.2f} s plus {start_up:.2f} s start-up")
    for name, figures in found.items():
        took, start_up = (statistics.median(column) for column in zip(*figures, strict=True))
        print(
            f"{samples} samples of 1 s simulated work, {at_once} at once, {name}, median: "
            f"{took:.2f} s plus {start_up:.2f} s start-up "
            f"(no less than {samples / at_once:.0f} s is possible)"
        )
    pairs = zip(found["control tower"], found["bare"], strict=True)
    ratio = statistics.median(ours[0] / bare[0] for ours, bare in pairs)
    print(f"control tower / bare, without start-up: {ratio:.2f}")


def control_command(policy: str, samples: int, at_once: int, *more: str) -> list[str]:
    return [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--ct-env=mini"),
        *("--ct-main-task=fix", "--ct-sandbox=bwrap", f"--ct-untrusted-policy={policy}"),
        *(f"--ct-epochs={samples}", f"--ct-max-samples={at_once}", *more),
    ]


def bare_command(samples: int, at_once: int, log_dir: Path, seconds: float = 0) -> list[str]:
    settings = {"samples": samples, "at_once": at_once, "log_dir": str(log_dir), "seconds": seconds}
    return [sys.executable, str(Path(__file__).with_name("bare_eval.py")), json.dumps(settings)]


def timed(command: list[str], place: Path) -> tuple[float, float]:
    """Wall and CPU seconds of a whole process with its children."""
    environment = {
        **os.environ,
        "CT_ENVIRONMENTS_PATH": str(place / "environments"),
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
