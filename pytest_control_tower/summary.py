"""What the process that the user started says of a run: header, categories, table, exit code."""

from __future__ import annotations

import pytest

from pytest_control_tower.reporting import ControlReports, describe_run, describe_selection
from pytest_control_tower.run import ControlRun

EXIT_UNDECIDED = 10
"""Exit code when no assertion failed but some sample errored or stayed unscored."""


class ControlSummary:
    """Registered as a plugin where reports arrive: in the only process, or in xdist's controller.

    Args:
        run: the run that the options describe.
        asked_for: whether the command line asks for a control run.
    """

    def __init__(self, run: ControlRun, *, asked_for: bool) -> None:
        self.run = run
        self.reports = ControlReports()
        self.stopped_at_failure = False
        """Whether xdist was interrupted because of failures, and not by the user."""
        self._asked_for = asked_for

    def pytest_report_header(self, config: pytest.Config) -> list[str]:
        """Say what was chosen."""
        return describe_run(self.run.plan) if self._asked_for else []

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(
        self, report: pytest.TestReport | pytest.CollectReport
    ) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Show errored and unscored samples as categories of their own."""
        return self.reports.status(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what the summary needs."""
        self.reports.add(report)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Exit 10 when no assertion failed but some sample stayed undecided."""
        if self.stopped_at_failure and exitstatus == pytest.ExitCode.INTERRUPTED:
            exitstatus = session.exitstatus = pytest.ExitCode.TESTS_FAILED
        decided = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if exitstatus in decided and self.reports.undecided_only:
            session.exitstatus = EXIT_UNDECIDED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The table per environment and mode, what was not run, and where the log is.

        Where only ids are shown, there is no header: what it says of the selection comes last.
        """
        config = terminalreporter.config
        if self._asked_for and config.option.collectonly and config.get_verbosity() < 0:
            for line in describe_selection(self.run.plan):
                terminalreporter.write_line(line)
        if self.run.began:
            self.reports.summarise(
                terminalreporter, self.run.sample_ids, self.run.outcomes(), self.run.directory
            )
