"""The control session: plans the run, starts the runner, waits for samples, tells what came."""

from __future__ import annotations

import secrets
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from control_tower.episode.outcome import Outcome
from control_tower.episode.plan import RunPlan, make_plan
from control_tower.errors import UsageProblem
from control_tower.run_options import RunOptions
from control_tower.runners.base import Runner
from control_tower.selection import SampleKey
from pytest_control_tower.items import is_builtin, is_skipped, keys_to_run, sample_key
from pytest_control_tower.judging import ControlOutcome, SetupFailed, setup_report
from pytest_control_tower.options import front_end
from pytest_control_tower.progress import ProgressLine
from pytest_control_tower.reporting import (
    ControlReports,
    decorate,
    describe_run,
    describe_start,
    properties,
)
from pytest_control_tower.unreported import report_finished

EXIT_UNDECIDED = 10
"""Exit code when no assertion failed but some sample errored or stayed unscored."""

DEFAULT_LOG_DIR = "logs"

_OUTCOME = pytest.StashKey[Outcome]()


class ControlSession:
    """Registered as a plugin while a control option is given."""

    def __init__(self, config: pytest.Config, values: dict[str, Any]) -> None:
        self._config = config
        self._values = values
        self._plan: RunPlan | None = None
        self._models: dict[str, str] = {}
        self._runner: Runner | None = None
        self._keys: list[SampleKey] = []
        self._progress: ProgressLine | None = None
        self._reports = ControlReports()
        self._stopped_at_error = False

    @property
    def plan(self) -> RunPlan:
        """The checked plan; made when first asked for.

        Raises:
            pytest.UsageError: for the first thing wrong with the options.
        """
        if self._plan is None:
            try:
                self._plan = make_plan(self._options())
            except UsageProblem as problem:
                raise pytest.UsageError(str(problem)) from None
        return self._plan

    def _options(self) -> RunOptions:
        return RunOptions.from_values(self._values, front_end=front_end(self._config))

    def require_provisioned(self, key: SampleKey) -> None:
        """Wait until the sample's sandbox is ready.

        Raises:
            SetupFailed: if it never was.
        """
        runner = self._running()
        if runner.provisioned(key).result():
            return
        outcome = runner.outcome(key).result()
        if outcome.status == "setup_error":
            raise SetupFailed(setup_report(outcome))

    def judged(self, key: SampleKey) -> ControlOutcome:
        """Wait for the sample's end; its outcome with the run's assertion."""
        return ControlOutcome(self._running().outcome(key).result(), self.plan.assertion)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Check everything that can be checked, before anything starts."""
        plan = self.plan
        if _is_distributed(self._config):
            raise pytest.UsageError(_no_xdist(plan))
        if self._will_run:
            try:
                self._models = plan.preflight()
            except UsageProblem as problem:
                raise pytest.UsageError(str(problem)) from None

    def pytest_report_header(self, config: pytest.Config) -> list[str]:
        """Say what was chosen."""
        return describe_run(self.plan)

    def pytest_report_collectionfinish(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> list[str]:
        """Say what is about to run, and with which models and limits."""
        if not self._will_run:
            return []
        return [describe_start(self.plan, self._models, len(keys_to_run(items)))]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Start the runner with the items that are left, and stop it whatever happens."""
        self._keys = keys_to_run(session.items)
        if not self._keys or not self._will_run or session.testsfailed:
            return (yield)
        self._start()
        interrupted = False
        try:
            return (yield)
        except KeyboardInterrupt:
            interrupted = True
            raise
        finally:
            self._running().stop()
            if interrupted or self._stopped_at_error:
                self._report_what_finished(session)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Wait for the item's sample before pytest captures output and takes the time."""
        key = sample_key(item)
        if key is None or self._progress is None or is_skipped(item):
            return (yield)
        outcome = self._progress.wait(self._running().outcome(key))
        item.stash[_OUTCOME] = outcome
        item.user_properties += properties(outcome)
        result = yield
        errored = outcome.status in ("errored", "setup_error")
        if errored and not self.plan.options.no_fail_on_error:
            self._stopped_at_error = True
            flag = self.plan.options.flag("no_fail_on_error")
            item.session.shouldfail = f"sample {key.id} errored; {flag} goes on after errors"
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Give reports the sample's own durations and outcome."""
        report = yield
        outcome = item.stash.get(_OUTCOME, None)
        if outcome is not None:
            decorate(report, outcome, call.excinfo.value if call.excinfo else None)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(
        self, report: pytest.TestReport | pytest.CollectReport
    ) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Show errored and unscored samples as categories of their own."""
        return self._reports.status(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what the summary needs."""
        self._reports.add(report)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Exit 10 when no assertion failed but some sample stayed undecided."""
        decided = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if exitstatus in decided and self._reports.undecided_only:
            session.exitstatus = EXIT_UNDECIDED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The table per environment and mode, what was not run, and where the log is."""
        if self._runner is not None:
            outcomes = self._runner.progress().outcomes
            self._reports.summarise(
                terminalreporter,
                [key.id for key in self._keys],
                {outcome.sample_id for outcome in outcomes if outcome.status == "cancelled"},
                self._runner.run_directory,
            )

    @property
    def _will_run(self) -> bool:
        option = self._config.option
        return not (option.collectonly or option.setupplan)

    def _start(self) -> None:
        from control_tower.runners.local import LocalRunner

        run_id = secrets.token_hex(4)
        parent = Path(self.plan.options.log_dir or DEFAULT_LOG_DIR).expanduser()
        name = "_".join((time.strftime("%Y-%m-%dT%H-%M-%S"), self.plan.policy.name, run_id))
        self._runner = LocalRunner(
            self.plan,
            run_id=run_id,
            run_directory=(parent / name).absolute(),
            models=self._models,
        )
        progress = self._runner.progress
        self._progress = ProgressLine(self._config, progress, self.plan.assertion)
        self._runner.start(self._keys)

    def _running(self) -> Runner:
        if self._runner is None:
            raise RuntimeError("the control runner was not started")
        return self._runner

    def _report_what_finished(self, session: pytest.Session) -> None:
        """Nothing that was paid for is lost: report samples that ran ahead of pytest."""
        for item in session.items:
            key = sample_key(item)
            if key is None or not is_builtin(item) or item.nodeid in self._reports.reported:
                continue
            judged = self.judged(key)
            if judged.outcome.status not in ("cancelled", "not_run"):
                item.user_properties += properties(judged.outcome)
                report_finished(item, judged)


def _is_distributed(config: pytest.Config) -> bool:
    return config.pluginmanager.has_plugin("dsession") or hasattr(config, "workerinput")


def _no_xdist(plan: RunPlan) -> str:
    return (
        "control samples under pytest-xdist come next; leave out -n "
        f"({plan.options.flag('max_samples')} runs samples at the same time)"
    )
