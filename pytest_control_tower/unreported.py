"""Reports of items whose samples finished ahead of pytest when the run was cut short."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from pytest_control_tower.judging import ControlOutcome, SampleProblem, SetupFailed, setup_report
from pytest_control_tower.reporting import decorate, properties

Phase = Literal["setup", "call", "teardown"]


@dataclass(frozen=True)
class _Subject:
    """What a report is about."""

    nodeid: str
    location: tuple[str, int | None, str]
    file: str
    keywords: Mapping[str, Any]
    properties: list[tuple[str, object]]


def report_finished(item: pytest.Item, judged: ControlOutcome) -> None:
    """Report an item of the built-in suite from its outcome alone, as if it had been run."""
    keywords = dict.fromkeys(item.keywords, 1)
    subject = _Subject(item.nodeid, item.location, str(item.path), keywords, item.user_properties)
    _report_all(item.ihook, subject, judged)


def report_by_id(config: pytest.Config, node_id: str, judged: ControlOutcome) -> None:
    """The same for an item that a worker collected, known here by its id only."""
    file, _, name = node_id.partition("::")
    subject = _Subject(node_id, (file, 0, name), file, {}, properties(judged.outcome))
    _report_all(config.hook, subject, judged)


def report_given_up(config: pytest.Config, node_id: str, reason: str) -> None:
    """Report an item that nobody will run as failed."""
    file, _, name = node_id.partition("::")
    report = pytest.TestReport(
        nodeid=node_id,
        location=(file, 0, name),
        keywords={},
        outcome="failed",
        longrepr=reason,
        when="call",
    )
    config.hook.pytest_runtest_logreport(report=report)


def _report_all(hook: Any, item: _Subject, judged: ControlOutcome) -> None:
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    error = _error(judged)
    failing: Phase = "setup" if isinstance(error, SetupFailed) else "call"
    phases: tuple[Phase, ...] = ("setup", "call", "teardown")
    for phase in phases:
        if phase == "call" and failing == "setup":
            continue
        raised = error if phase == failing else None
        report = _report(item, phase, raised)
        decorate(report, judged.outcome, raised)
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _error(judged: ControlOutcome) -> BaseException | None:
    if judged.outcome.status == "setup_error":
        return SetupFailed(setup_report(judged.outcome))
    try:
        judged.check()
    except (SampleProblem, pytest.skip.Exception) as error:
        return error
    return None


def _report(item: _Subject, phase: Phase, error: BaseException | None) -> pytest.TestReport:
    outcome: Literal["passed", "failed", "skipped"] = "passed"
    longrepr: Any = None
    if isinstance(error, pytest.skip.Exception):
        outcome, longrepr = "skipped", (item.file, item.location[1] or 0, str(error))
    elif error is not None:
        outcome, longrepr = "failed", str(error)
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords=item.keywords,
        outcome=outcome,
        longrepr=longrepr,
        when=phase,
        user_properties=item.properties,
    )
