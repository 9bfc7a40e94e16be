"""The control session where items run: in the only process, or in one of xdist's workers."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator, Sequence

import pytest

from control_tower.episode.outcome import Outcome
from control_tower.selection import SampleKey
from pytest_control_tower.builtin import NODE_ID
from pytest_control_tower.items import grouped, is_builtin, keys_to_run, sample_key
from pytest_control_tower.reporting import (
    decorate,
    describe_start,
    properties,
)
from pytest_control_tower.run import ControlRun, RunStopped
from pytest_control_tower.summary import ControlSummary
from pytest_control_tower.terminating import Termination
from pytest_control_tower.unreported import report_finished
from pytest_control_tower.workers.collected import Collected

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
        summary: what reports the run, in the only process; None in a worker, whose run was
            checked, and will be reported, by the process that started it.
        termination: what requests to terminate become.
    """

    def __init__(
        self,
        config: pytest.Config,
        run: ControlRun,
        *,
        asked_for: bool,
        summary: ControlSummary | None,
        termination: Termination,
    ) -> None:
        self._config = config
        self.run = run
        self._summary = summary
        self._termination = termination
        self._asked_for = asked_for and summary is not None
        self._stopped_at_error = False
        self._abandoned: pytest.Item | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Check everything that can be checked, before anything starts.

        Raises:
            pytest.UsageError: for the first thing that is wrong or missing.
        """
        if not self._asked_for:
            return
        _ = self.run.plan
        refuse_setup_only(self._config)
        if self.run.will_run:
            _ = self.run.models

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Refuse a run that was asked for and has no sample, before anything is deselected.

        Raises:
            pytest.UsageError: if paths were given and none of their tests uses a sample.
        """
        if not self._asked_for or not items or self.run.plan.selection.nothing:
            return
        if not any(sample_key(item) for item in items):
            raise pytest.UsageError(NO_SAMPLE)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Bring tests that look into one sample's sandbox side by side, whoever reordered them.

        The first worker tells the process that deals out which items have a sample.

        Raises:
            pytest.UsageError: the run's directory cannot be made.
        """
        session.items[:] = grouped(session.items)
        member = self.run.membership
        if member is not None and member.worker == 0 and any(map(sample_key, session.items)):
            self.run.open()
            Collected.of(session.items).tell(self.run.directory)

    def pytest_report_collectionfinish(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> list[str]:
        """Say what is about to run, and with which models and limits."""
        keys = keys_to_run(items)
        if not keys or not self.run.will_run or self._summary is None:
            return []
        return describe_start(self.run.plan, self.run.models, len(keys))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Start the runner with the items that are left, and stop it whatever happens."""
        if self._summary is None:
            return (yield from self._work())
        keys = keys_to_run(session.items)
        stays = session.config.option.continue_on_collection_errors
        if not keys or not self.run.will_run or (session.testsfailed and not stays):
            return (yield)
        refuse_setup_only(self._config)
        self._termination.install()
        interrupted = False
        try:
            self._start(session.items)
            return (yield)
        except KeyboardInterrupt:
            interrupted = True
            raise
        finally:
            self._termination.begin_end()
            if self.run.started:
                self.run.running.stop()
                if interrupted or self._stopped_at_error:
                    self._report_what_finished(session, self._summary)

    def _work(self) -> Generator[None, object, object]:
        """In a worker, samples start with its first item: only then does it have its share."""
        self._termination.install()
        try:
            return (yield)
        finally:
            self._termination.begin_end()
            if self.run.started:
                self.run.running.stop()

    def _start(self, items: Sequence[pytest.Item]) -> None:
        keep_traces_out_of_reports(self._config)
        for message, category in OTHERS_WARNINGS:  # for the waiting between items
            warnings.filterwarnings("ignore", message, category)
        self.run.start(items)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Wait for the item's sample before pytest captures output and takes the time."""
        key = sample_key(item)
        try:
            outcome = self._outcome(item, key)
        except RunStopped as stopped:
            item.session.shouldstop = str(stopped)
            self._abandoned = item
            return (yield)
        if outcome is None:
            return (yield)
        item.stash[_OUTCOME] = outcome
        item.user_properties += properties(outcome)
        try:
            result = yield
        finally:  # also if the item never came to its sandbox
            if key is not None:
                self.run.running.let_go(key, item)
        options = self.run.plan.options
        if outcome.stops_the_run and not options.no_fail_on_error:
            self._stopped_at_error = True
            if self.run.membership is not None:
                self.run.ask_to_stop("a sample errored")
            flag = options.flag("no_fail_on_error")
            item.session.shouldfail = (
                f"sample {outcome.sample_id} errored; {flag} goes on after errors"
            )
        return result

    @pytest.hookimpl(tryfirst=True, specname="pytest_runtest_protocol")
    def pytest_leave_abandoned(self, item: pytest.Item) -> bool | None:
        """Neither run nor report an item whose run was stopped while it waited."""
        return True if item is self._abandoned else None

    def _outcome(self, item: pytest.Item, key: SampleKey | None) -> Outcome | None:
        """The outcome of the item's sample, once it is over; None if it has none."""
        if not self.run.will_run or (key is None and not self.run.started):
            return None
        self.run.check_stop()
        member = self.run.membership
        if member is not None and not self.run.started:
            items = item.session.items
            samples = Collected.of(items).samples
            share = member.share([other.nodeid for other in items], samples)
            self._start([items[index] for index in share])
        if key is None or not self.run.knows(key):
            return None
        return self.run.running.wait(key)

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

    def _report_what_finished(self, session: pytest.Session, summary: ControlSummary) -> None:
        """Nothing that was paid for is lost: report samples that ran ahead of pytest."""
        for item in session.items:
            key = sample_key(item)
            if key is None or not is_builtin(item) or item.nodeid in summary.reports.reported:
                continue
            if not self.run.knows(key):
                continue
            judged = self.run.running.judged(key)
            if judged.outcome.status not in ("cancelled", "not_run"):
                item.user_properties += properties(judged.outcome)
                report_finished(item, judged)


NO_SAMPLE = (
    "no test of the given paths uses a control fixture, so no sample would run; add "
    f"'{NODE_ID}' to the paths, or leave them out"
)


def refuse_setup_only(config: pytest.Config) -> None:
    """Refuse an option that would pay for samples and judge none.

    Raises:
        pytest.UsageError: it is given.
    """
    if config.option.setuponly and not config.option.setupplan:
        raise pytest.UsageError(
            "--setup-only would run samples and judge none; use --setup-plan or --collect-only"
        )


def keep_traces_out_of_reports(config: pytest.Config) -> None:
    """Keep Inspect's traces, two for every command in a sandbox, out of what pytest captures."""
    plugin = config.pluginmanager.get_plugin("logging-plugin")
    for name in ("caplog_handler", "report_handler"):
        handler = getattr(plugin, name, None)
        if handler is not None and _is_worth_reporting not in handler.filters:
            handler.addFilter(_is_worth_reporting)


def _is_worth_reporting(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.DEBUG or not record.name.startswith("inspect_ai")
