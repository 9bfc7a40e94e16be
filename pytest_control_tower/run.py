"""The control run of a pytest session: its plan, its runner, and waiting for samples."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from control_tower.episode.outcome import Outcome
from control_tower.episode.plan import RunPlan, make_plan
from control_tower.errors import UsageProblem
from control_tower.run_options import RunOptions
from control_tower.runners.base import Runner
from control_tower.selection import SampleKey
from pytest_control_tower.judging import ControlOutcome, SetupFailed, setup_report
from pytest_control_tower.options import front_end
from pytest_control_tower.progress import ProgressLine

_LEAVING = "control tower: removing the sandboxes; Ctrl-C once more leaves them to the next run"


class ControlRun:
    """Made from the options; starts nothing until it is told to."""

    def __init__(self, config: pytest.Config, values: Mapping[str, Any]) -> None:
        self._config = config
        self._values = values
        self._plan: RunPlan | None = None
        self._models: dict[str, str] | None = None
        self._runner: Runner | None = None
        self._progress: ProgressLine | None = None
        self.keys: list[SampleKey] = []
        """The samples of this session's items, in item order; set by `start`."""
        self._known: frozenset[str] = frozenset()

    @property
    def plan(self) -> RunPlan:
        """The checked plan; made when first asked for.

        Raises:
            pytest.UsageError: for the first thing wrong with the options.
        """
        if self._plan is None:
            try:
                options = RunOptions.from_values(self._values, front_end=front_end(self._config))
                self._plan = make_plan(options)
            except UsageProblem as problem:
                raise pytest.UsageError(str(problem)) from None
        return self._plan

    @property
    def selects(self) -> bool:
        """Whether the options name an environment; without one there is nothing to plan."""
        return "env" in self._values

    @property
    def models(self) -> dict[str, str]:
        """Model by role, after a preflight.

        Raises:
            pytest.UsageError: for the first thing that the run would lack on this machine.
        """
        if self._models is None:
            if _is_distributed(self._config):
                raise pytest.UsageError(_no_xdist(self.plan))
            try:
                self._models = self.plan.preflight()
            except UsageProblem as problem:
                raise pytest.UsageError(str(problem)) from None
        return self._models

    @property
    def runner(self) -> Runner | None:
        """The runner, once started."""
        return self._runner

    def start(self, keys: Sequence[SampleKey]) -> None:
        """Run the samples of `keys` in the background.

        Raises:
            pytest.UsageError: if the preflight fails or the log directory cannot be made.
        """
        from control_tower.runners.local import LocalRunner

        options = self.plan.options
        run_id = secrets.token_hex(4)
        name = "_".join((time.strftime("%Y-%m-%dT%H-%M-%S"), self.plan.policy.name, run_id))
        directory = Path(options.log_dir).expanduser().absolute() / name
        models = self.models
        try:
            directory.mkdir(parents=True)
        except (OSError, ValueError) as error:
            raise pytest.UsageError(
                f"{options.flag('log_dir')}: '{options.log_dir}' cannot be used: {error}"
            ) from None
        self.keys = list(keys)
        self._known = frozenset(key.id for key in keys)
        self._runner = LocalRunner(self.plan, run_id=run_id, run_directory=directory, models=models)
        self._progress = ProgressLine(self._config, self._runner.progress, self.plan.assertion)
        self._runner.start(self.keys)

    def knows(self, key: SampleKey) -> bool:
        """Whether the sample is among those that were started."""
        return key.id in self._known

    def wait(self, key: SampleKey) -> Outcome:
        """Wait for a sample's end, with a progress line."""
        if self._progress is None:
            raise RuntimeError("the control run was not started")
        return self._progress.wait(self._started().outcome(key))

    def require_provisioned(self, key: SampleKey) -> None:
        """Make sure that the last attempt had its sandbox; an earlier one does not count.

        Raises:
            SetupFailed: if it had not.
        """
        outcome = self._started().outcome(key).result()
        if outcome.status == "setup_error":
            raise SetupFailed(setup_report(outcome))

    def judged(self, key: SampleKey) -> ControlOutcome:
        """Wait for the sample's end; its outcome with the run's assertion."""
        return ControlOutcome(self._started().outcome(key).result(), self.plan.assertion)

    def stop(self) -> None:
        """End the run and remove its sandboxes; an impatient Ctrl-C is told what is going on."""
        runner = self._started()
        try:
            runner.stop()
        except KeyboardInterrupt:
            reporter: pytest.TerminalReporter | None = self._config.pluginmanager.get_plugin(
                "terminalreporter"
            )
            if reporter is not None:
                reporter.write_line("")
                reporter.write_line(_LEAVING)
            runner.stop()

    def _started(self) -> Runner:
        if self._runner is None:
            raise RuntimeError("the control run was not started")
        return self._runner


def _is_distributed(config: pytest.Config) -> bool:
    return config.pluginmanager.has_plugin("dsession") or hasattr(config, "workerinput")


def _no_xdist(plan: RunPlan) -> str:
    return (
        "control samples under pytest-xdist come next; leave out -n "
        f"({plan.options.flag('max_samples')} runs samples at the same time)"
    )
