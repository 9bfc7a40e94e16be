"""The supervisor: starts front end, scheduler and workers, and starts again what has ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from . import seed, store
from .config import Settings
from .logs import Log

PAUSE_SECONDS = 0.5
"""Between the end of a process and its next start."""
STOP_SECONDS = 5.0


class Supervisor:
    """The parent of all other processes."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.log = Log(settings.log, "supervisor.log", "supervisor")
        self.roles: dict[str, list[str]] = {"http": ["http"], "scheduler": ["scheduler"]}
        for number in range(1, settings.workers + 1):
            self.roles[f"w{number}"] = ["worker", f"w{number}"]
        self.children: dict[str, subprocess.Popen] = {}
        self.ended: dict[str, float] = {}
        self.stopping = False

    def run(self) -> None:
        """Keep them all running until told to stop."""
        signal.signal(signal.SIGTERM, self._stop)
        self.settings.run.mkdir(parents=True, exist_ok=True)
        pid_file = self.settings.run / "supervisor.pid"
        pid_file.write_text(f"{os.getpid()}\n", encoding="utf-8")
        seed.ensure(store.connect(self.settings))
        self.log.write("up", pid=os.getpid())
        while not self.stopping:
            for role in self.roles:
                self._look_after(role)
            time.sleep(0.1)
        self._end_all()
        self.log.write("down", pid=os.getpid())

    def _look_after(self, role: str) -> None:
        child = self.children.get(role)
        if child is not None and child.poll() is None:
            return
        if child is not None:
            self.log.write("ended", role=role, pid=child.pid, code=child.returncode)
            self.ended[role] = time.monotonic()
            del self.children[role]
        if time.monotonic() - self.ended.get(role, 0.0) < PAUSE_SECONDS:
            return
        argv = [sys.executable, "-m", "millrace", *self.roles[role]]
        self.children[role] = subprocess.Popen(argv, stdin=subprocess.DEVNULL)
        self.log.write("started", role=role, pid=self.children[role].pid)

    def _end_all(self) -> None:
        for child in self.children.values():
            child.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for child in self.children.values():
            try:
                child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def _stop(self, *_: object) -> None:
        self.stopping = True
