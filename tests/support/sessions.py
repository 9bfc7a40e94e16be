"""Running pytest on control samples inside tests."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from control_tower.runners.journal import FILE, Event
from support.environments import EnvironmentFiles

TESTS = Path(__file__).parents[1]


class ControlPytester:
    """pytester with a place for environments; runs in this process or in one of its own."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester = pytester
        self.environments = pytester.path / "environments"
        self.environments.mkdir()
        monkeypatch.setenv("CT_ENVIRONMENTS_PATH", str(self.environments))
        monkeypatch.setenv("CT_STATE_DIR", str(pytester.path / "state"))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS)]))
        monkeypatch.delenv("INSPECT_EVAL_MODEL", raising=False)
        monkeypatch.delenv("CT_MODEL_UNTRUSTED", raising=False)

    def environment(self, **parts: Any) -> Path:
        """Write a test environment (see `EnvironmentFiles`)."""
        return EnvironmentFiles(**parts).write(self.environments)

    def run(self, *args: str) -> pytest.RunResult:
        """pytest on the environment `mini` in bwrap, in this process."""
        return self.pytester.runpytest_inprocess(*self._defaults(args), "-p", "no:randomly")

    def subprocess_args(self, *args: str) -> list[str]:
        """The same as a command line for a process of its own."""
        return [sys.executable, "-m", "pytest", *self._defaults(args)]

    def run_apart(self, *args: str) -> pytest.RunResult:
        """The same in a process of its own."""
        return self.pytester.run(*self.subprocess_args(*args))

    def run_plain(self, *args: str) -> pytest.RunResult:
        """pytest with nothing but these arguments, in a process of its own."""
        return self.pytester.run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *args)

    def ct(self, *args: str) -> pytest.RunResult:
        """`ct` in a process of its own."""
        return self.pytester.run(sys.executable, "-m", "control_tower.cli", *args)

    def journal(self) -> list[Event]:
        """The events of the latest run."""
        run = max(self.pytester.path.glob("logs/*"), key=lambda path: path.stat().st_mtime_ns)
        return [Event.model_validate_json(line) for line in (run / FILE).read_text().splitlines()]

    @staticmethod
    def _defaults(args: tuple[str, ...]) -> list[str]:
        own = ["--ct-env=mini", "--ct-sandbox=bwrap", "-p", "no:cacheprovider"]
        if "--lf" in args or "--keep-cache" in args:
            own = own[:2]
        return [*own, *(arg for arg in args if arg != "--keep-cache")]

    def trajectories(self) -> dict[str, dict[str, Any]]:
        """The trajectories written so far, by file name without ending."""
        files = self.pytester.path.glob("logs/*/trajectories/*.json")
        return {file.stem: json.loads(file.read_text()) for file in files}

    def logs(self) -> list[Path]:
        """The Inspect logs written so far."""
        return sorted(self.pytester.path.glob("logs/*/*.eval"))


def lines_with(result: pytest.RunResult, text: str) -> list[str]:
    """The output lines that contain `text`."""
    return [line for line in result.outlines if text in line]
