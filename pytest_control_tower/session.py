"""The control session: pytest's hooks around a control run."""

from __future__ import annotations

import warnings
from collections.abc import Generator

import pytest

from control_tower.episode.outcome import Outcome
from pytest_control_tower.builtin import NODE_ID
from pytest_control_tower.items import is_builtin, keys_to_run, sample_key
from pytest_control_tower.reporting import (
    ControlReports,
    decorate,
    describe_run,
    describe_start,
    properties,
)
from pytest_control_tower.run import ControlRun
from pytest_control_tower.terminating import termination_as_interrupt
from pytest_control_tower.unreported import report_finished

EXIT_UNDECIDED = 10
"""Exit code when no assertion failed but some sample errored or stayed unscored."""

OTHERS_WARNINGS: tuple[tuple[str, type[Warning]], ...] = (
    ("Unclosed <MemoryObject", ResourceWarning),
    ("The 'initial' parameter is deprecated", DeprecationWarning),
)
"""Warnings inside Inspect, in the samples' thread: no `error` filter of a project means them."""

_OUTCOME = pytest.StashKey[Outcome]()


class ControlSession:
    """Registered as a plugin while a control option is given.

    Args:
        config: pytest's configuration.
        run: the run that the options describe.
        asked_for: whether the command line asks for a control run. If only an ini file sets
            options, nothing is checked or said until a collected item needs a sample.
    """

    def __init__(self, config: pytest.Config, run: ControlRun, *, asked_for: bool) -> None:
        self._config = config
        self.run = run
        self._asked_for = asked_for
        self._reports = ControlReports()
        self._stopped_at_error = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Check everything that can be checked, before anything starts.

        Raises:
            pytest.UsageError: for the first thing that is wrong or missing.
        """
        if not self._asked_for:
            return
        _ = self.run.plan
        _refuse_setup_only(self._config)
        if self._will_run:
            _ = self.run.models

    def pytest_report_header(self, config: pytest.Config) -> list[str]:
        """Say what was chosen."""
        return describe_run(self.run.plan) if self._asked_for else []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Refuse a run that was asked for and has no sample, before anything is deselected.

        Raises:
            pytest.UsageError: if paths were given and none of their tests uses a sample.
        """
        if self._asked_for and items and not any(sample_key(item) for item in items):
            raise pytest.UsageError(
                "no test of the given paths uses a control fixture, so no sample would run; add "
                f"'{NODE_ID}' to the paths, or leave them out"
            )

    def pytest_report_collectionfinish(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> list[str]:
        """Say what is about to run, and with which models and limits."""
        keys = keys_to_run(items)
        if not keys or not self._will_run:
            return []
        return describe_start(self.run.plan, self.run.models, len(keys))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Start the runner with the items that are left, and stop it whatever happens."""
        keys = keys_to_run(session.items)
        stays = session.config.option.continue_on_collection_errors
        if not keys or not self._will_run or (session.testsfailed and not stays):
            return (yield)
        _refuse_setup_only(self._config)
        for message, category in OTHERS_WARNINGS:  # for the waiting between items
            warnings.filterwarnings("ignore", message, category)
        self.run.start(keys)
        interrupted = False
        with termination_as_interrupt() as termination:
            try:
                return (yield)
            except KeyboardInterrupt:
                interrupted = True
                raise
            finally:
                termination.begin_end()
                self.run.stop()
                if interrupted or self._stopped_at_error:
                    self._report_what_finished(session)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Wait for the item's sample before pytest captures output and takes the time."""
        key = sample_key(item)
        if key is None or not self.run.knows(key):
            return (yield)
        outcome = self.run.wait(key)
        item.stash[_OUTCOME] = outcome
        item.user_properties += properties(outcome)
        result = yield
        options = self.run.plan.options
        if outcome.status in ("errored", "setup_error") and not options.no_fail_on_error:
            self._stopped_at_error = True
            flag = options.flag("no_fail_on_error")
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
        runner = self.run.runner
        if runner is not None:
            ids = [key.id for key in self.run.keys]
            outcomes = {outcome.sample_id: outcome for outcome in runner.progress().outcomes}
            self._reports.summarise(terminalreporter, ids, outcomes, runner.run_directory)

    @property
    def _will_run(self) -> bool:
        option = self._config.option
        return not (option.collectonly or option.setupplan)

    def _report_what_finished(self, session: pytest.Session) -> None:
        """Nothing that was paid for is lost: report samples that ran ahead of pytest."""
        for item in session.items:
            key = sample_key(item)
            if key is None or not is_builtin(item) or item.nodeid in self._reports.reported:
                continue
            if not self.run.knows(key):
                continue
            judged = self.run.judged(key)
            if judged.outcome.status not in ("cancelled", "not_run"):
                item.user_properties += properties(judged.outcome)
                report_finished(item, judged)


def _refuse_setup_only(config: pytest.Config) -> None:
    if config.option.setuponly and not config.option.setupplan:
        raise pytest.UsageError(
            "--setup-only would run samples and judge none; use --setup-plan or --collect-only"
        )
