"""A real run of many samples, to be killed or left alone, and what is lost of its work."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Self

from control_tower.runners.journal import FILE, History, read_history
from control_tower.selection import epoch_id
from control_tower.trajectories.store import DIRECTORY
from support.environments import EnvironmentFiles, main_task
from support.kills import DEADLINE, HEEDING, TESTS, session_of, until
from support.networks import BASE

_AT_ONCE = 4
_COMPOSE = f"""
services:
  default:
    image: {BASE}
    command: sleep infinity
    init: true
    stop_grace_period: 1s
    volumes: [kept:/kept]
    depends_on: [store]
  store:
    image: {BASE}
    command: sleep infinity
    init: true
    stop_grace_period: 1s
    volumes: [kept:/kept]
volumes: {{kept: {{}}}}
"""
"""Two services and a volume; with internet also two networks. No image is made of it."""
_SETTINGS = "network: internet\nagent_user: root\nworkspace: /srv\n"
_COMMANDS = ["echo yes > main.txt && cp main.txt /kept", "sleep 0.3 && cat /kept/main.txt"]


class LeakRun:
    """A real `ct run eval2` of one environment's one task, in a session of its own.

    Args:
        place: a folder for everything of this run; made here.
        state: the state directory, which it shares with others.
        epochs: how many samples it has.
        workers: xdist's; 0: none.
        waits_for: a file that each sample waits for in the midst of its work.
    """

    def __init__(
        self,
        place: Path,
        state: Path,
        *,
        epochs: int,
        workers: int = 0,
        waits_for: Path | None = None,
    ) -> None:
        self.environment = f"leak-{place.name}-{secrets.token_hex(4)}"
        """Its environment's id; no other run has it."""
        self._place = place
        files = EnvironmentFiles(name=self.environment, main={"fix": main_task()}, side={})
        root = files.write(place / "environments")
        (root / "codebase" / "compose.yml").write_text(_COMPOSE)
        with (root / "environment.yaml").open("a") as settings:
            settings.write(_SETTINGS)
        variables = {
            "CT_ENVIRONMENTS_PATH": str(place / "environments"),
            "CT_STATE_DIR": str(state),
            "PYTHONPATH": str(TESTS),
        }
        with (place / "output").open("w") as output:
            self.process = subprocess.Popen(
                self._command(epochs, workers, waits_for),
                cwd=place,
                env=os.environ | variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.put_down()

    @property
    def output(self) -> str:
        """What it printed."""
        return (self._place / "output").read_text(errors="replace")

    @property
    def is_over(self) -> bool:
        """Whether the process that was started has ended."""
        return self.process.poll() is not None

    @property
    def started(self) -> int:
        """How many samples it started, each attempt for itself."""
        return sum(self.history().started.values())

    def history(self) -> History:
        """What became of its samples so far."""
        folder = self._folder()
        return read_history(folder) if folder else History()

    def send(self, number: signal.Signals, *, group: bool) -> None:
        """Send it a signal, or its whole process group; what has ended is left alone."""
        with suppress(ProcessLookupError):
            if group:
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)

    def end(self) -> int:
        """Wait until the process that was started has ended; its exit code."""
        try:
            return self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.environment} never ends:\n{self.output[-3000:]}") from None

    def all_end(self) -> None:
        """Wait until the last of its processes has ended."""
        until(lambda: not session_of(self.process.pid), f"the end of all of {self.environment}")

    def put_down(self) -> None:
        """End it whatever state it is in, for a test that has failed."""
        if session_of(self.process.pid):
            self.send(signal.SIGKILL, group=True)
        self.process.wait(DEADLINE)

    def scored(self) -> list[str]:
        """Ids of the samples that count as scored."""
        finished = self.history().finished
        return [sample for sample, outcome in finished.items() if outcome.status == "scored"]

    def failures(self) -> list[str]:
        """A text for each sample that came to something which no kill explains."""
        return [
            f"{outcome.sample_id} {outcome.status}: {outcome.error}"
            for outcome in self.history().finished.values()
            if outcome.status not in ("scored", "cancelled", "not_run")
        ]

    def without_trajectory(self) -> list[str]:
        """Those that count as scored, and have none."""
        folder = self._folder()
        files = {path.stem for path in folder.glob(f"{DIRECTORY}/*.json")} if folder else set()
        return [sample for sample in self.scored() if sample.replace("/", ".") not in files]

    def without_log(self) -> list[str]:
        """Those that count as scored, and are in none of its Inspect logs."""
        from inspect_ai.log import read_eval_log

        logged = set()
        for path in self._place.glob("logs/*/*.eval"):
            for sample in read_eval_log(str(path)).samples or ():
                if sample.scores:
                    logged.add(epoch_id(str(sample.id), sample.epoch))
        return [sample for sample in self.scored() if sample not in logged]

    def _folder(self) -> Path | None:
        found = [path.parent for path in self._place.glob(f"logs/*/{FILE}")]
        return found[0] if found else None

    def _command(self, epochs: int, workers: int, waits_for: Path | None) -> list[str]:
        policy = "waits" if waits_for else "runs"
        args = [f"commands={json.dumps(_COMMANDS)}"]
        args += [f"file={waits_for}"] if waits_for else []
        return [
            *HEEDING,
            *(sys.executable, "-m", "control_tower.cli", "run", "eval2"),
            *("--env", self.environment, "--main-task", "fix", "--epochs", str(epochs)),
            *("--max-samples", str(_AT_ONCE), "--untrusted-policy", f"support.policies:{policy}"),
            *(part for arg in args for part in ("--untrusted-policy-arg", arg)),
            *("--", "-p", "no:cacheprovider"),
            *(("-n", str(workers)) if workers else ()),
        ]
