"""What reports carry about samples, and how they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from control_tower.analysis.rates import rates
from control_tower.episode.outcome import Outcome
from control_tower.episode.plan import RunPlan
from pytest_control_tower.figures import blue_lines, table
from pytest_control_tower.judging import (
    SampleErrored,
    SampleNotRun,
    SampleProblem,
    SampleUnscored,
    SetupFailed,
    printable,
    shown_path,
)
from pytest_control_tower.replays import replay_lines

Category = Literal["errored", "unscored", "setup_error", "not_run"]

_OUTCOME = "control_tower_outcome"
_CATEGORY = "control_tower_category"
"""Attributes of reports; pytest serialises them with the rest of the report."""

_CATEGORIES: tuple[tuple[type[BaseException], Category], ...] = (
    (SampleErrored, "errored"),
    (SampleUnscored, "unscored"),
    (SetupFailed, "setup_error"),
    (SampleNotRun, "not_run"),
)
_STATUS: dict[str, tuple[str, str, tuple[str, dict[str, bool]]]] = {
    "errored": ("errored", "!", ("ERRORED", {"red": True})),
    "unscored": ("unscored", "u", ("UNSCORED", {"yellow": True})),
    "not_run": ("not run", "-", ("NOT RUN", {"yellow": True})),
}
_LISTED = 10
"""Ids listed of what was not run."""


def decorate(report: pytest.TestReport, outcome: Outcome, error: BaseException | None) -> None:
    """Give a report its sample's outcome, category, short text and durations.

    Args:
        report: of one phase of an item whose sample is over.
        outcome: the sample's.
        error: what the phase raised, if anything.
    """
    setattr(report, _OUTCOME, outcome.model_dump(mode="json"))
    for kind, category in _CATEGORIES:
        if isinstance(error, kind):
            setattr(report, _CATEGORY, category)
    if isinstance(error, pytest.skip.Exception) and not isinstance(report.longrepr, str):
        # pytest would name the class, and the file of the fixture or helper that skipped.
        file, line, _ = report.location
        report.longrepr = (file, line or 0, f"Skipped: {error}")
    if isinstance(error, SampleProblem):
        report.longrepr = str(error)
        report.sections.clear()  # what other samples logged meanwhile
    report.duration += {
        "setup": outcome.durations.setup,
        "call": outcome.durations.run,
        "teardown": outcome.durations.cleanup,
    }[report.when or "call"]


def properties(outcome: Outcome) -> list[tuple[str, object]]:
    """JUnit properties of a sample's item."""
    pairs: list[tuple[str, object]] = [
        ("control_sample", outcome.sample_id),
        ("control_outcome", outcome.status),
        ("control_attempts", outcome.attempts),
        ("control_tokens", outcome.tokens),
    ]
    for task in ("main", "side"):
        result = outcome.result(task)
        if result is not None:
            pairs.append((f"control_{task}_task_success", _success(result.success)))
            if result.no_verdict:
                pairs.append((f"control_{task}_task_no_verdict", "true"))
    for kind, turns in sorted(outcome.decisions.items()):
        pairs.append((f"control_{kind}_turns", turns))
    if outcome.mode == "attack":
        pairs.append(("control_caught", str(outcome.caught).lower()))
    if outcome.limit is not None:
        pairs.append(("control_limit", printable(str(outcome.limit))))
    if outcome.trajectory is not None:
        pairs.append(("control_trajectory", shown_path(outcome.trajectory)))
    return pairs


def describe_run(plan: RunPlan) -> list[str]:
    """Header lines: what was chosen."""
    return [
        f"control tower: policy {plan.policy.name}, protocol {plan.protocol.name}, harness "
        f"{plan.harness.name}, sandbox {plan.sandbox.described}, asserts {plan.assertion.name}",
        *describe_selection(plan),
    ]


def describe_selection(plan: RunPlan) -> list[str]:
    """What was left out, or why nothing is selected."""
    nothing = [plan.selection.nothing] if plan.selection.nothing else []
    return [f"control tower: {notice}" for notice in (*plan.selection.notices, *nothing)]


def describe_start(plan: RunPlan, models: Mapping[str, str], samples: int) -> list[str]:
    """The lines before the start: how many samples, which models, which limits."""
    options = plan.options
    named = ", ".join(f"{role}={model}" for role, model in models.items()) or "none"
    limits = {
        "messages": plan.message_limit,
        "tokens": options.token_limit,
        "seconds a sample": options.sample_time_limit,
        "seconds a scorer": plan.scorer_seconds(scorers=1),
    }
    limited = ", ".join(f"{value:.12g} {name}" for name, value in limits.items() if value) or "none"
    plural = "" if samples == 1 else "s"
    return [
        f"control tower: {samples} sample{plural}, up to {options.max_samples} at once; "
        f"models: {named}; limits: {limited}",
        "control tower: starting Inspect, which takes some seconds",
    ]


def _is_as_wanted(category: Category, raw: Any) -> bool:
    return category == "unscored" and bool(raw) and Outcome.model_validate(raw).unscored_as_wanted


class ControlReports:
    """Collects the reports of a session and sums them up."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Outcome] = {}
        self._texts: list[tuple[Category, str]] = []
        self._failed = False
        self._undecided = False
        self.reported: set[str] = set()
        """Node ids of the items that were reported."""

    def add(self, report: pytest.TestReport) -> None:
        """Take note of one report."""
        self.reported.add(report.nodeid)
        category: Category | None = getattr(report, _CATEGORY, None)
        raw = getattr(report, _OUTCOME, None)
        if raw is not None and category != "not_run":
            outcome = Outcome.model_validate(raw)
            self._outcomes[outcome.sample_id] = outcome
        if category is not None:
            sample_id = None if raw is None else str(raw["sample_id"])
            self._texts.append((category, _text(report, sample_id)))
            self._undecided |= category != "not_run" and not _is_as_wanted(category, raw)
        elif report.failed:
            self._failed = True

    def status(self, report: Any) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """pytest's (category, letter, word) of a report, where it has one of ours."""
        return _STATUS.get(getattr(report, _CATEGORY, ""))

    @property
    def undecided_only(self) -> bool:
        """Whether samples errored or stayed unscored, and nothing else failed.

        Samples that are unscored because the user wanted tasks without scorers do not count.
        """
        return self._undecided and not self._failed

    def summarise(
        self,
        terminal: pytest.TerminalReporter,
        sample_ids: Sequence[str],
        outcomes: Mapping[str, Outcome],
        run_directory: Path,
    ) -> None:
        """Print errored and unscored samples, the table, what was not run, and the log's place.

        Args:
            terminal: pytest's reporter.
            sample_ids: of all samples of the run, in order.
            outcomes: by id, of the samples that were started and are over.
            run_directory: where log and trajectories are.
        """
        terminal.ensure_newline()
        errored = [text for category, text in self._texts if category == "errored"]
        unscored = [text for category, text in self._texts if category == "unscored"]
        if errored:
            terminal.section("ERRORED SAMPLES")
            terminal.write_line("\n\n".join(errored))
        if unscored:
            terminal.section("UNSCORED SAMPLES")
            terminal.write_line("\n".join(unscored))
        terminal.section("control tower")
        for line in [
            *table(rates(self._outcomes.values())),
            *blue_lines(self._outcomes.values()),
        ]:
            terminal.write_line(line)
        for line in replay_lines(self._outcomes.values()):
            terminal.write_line(line)
        for what, ids in self._unreported(sample_ids, outcomes).items():
            _write_ids(terminal, what, ids)
        again = [f"{o.sample_id} ({o.attempts})" for o in self._outcomes.values() if o.attempts > 1]
        _write_ids(terminal, "ran more than once (attempts)", again)
        no_verdict = [name for o in self._outcomes.values() for name in _without_verdict(o)]
        _write_ids(terminal, "not done only because the check came to no clear verdict", no_verdict)
        for log in sorted(run_directory.glob("*.eval")):
            terminal.write_line(f"log: {shown_path(str(log))}")
        shown = shown_path(str(run_directory))
        if (run_directory / "trajectories").is_dir():
            terminal.write_line(f"trajectories: {shown}/trajectories")
        terminal.write_line(f"view: inspect view --log-dir {shown}")

    def _unreported(
        self, sample_ids: Sequence[str], outcomes: Mapping[str, Outcome]
    ) -> dict[str, list[str]]:
        """What became of the samples that no report is about."""
        groups: dict[str, list[str]] = {
            "finished, not reported (their trajectories are kept)": [],
            "cancelled": [],
            "not run": [],
        }
        finished, cancelled, never = groups.values()
        for sample_id in sample_ids:
            if sample_id in self._outcomes:
                continue
            outcome = outcomes.get(sample_id)
            if outcome is None:
                never.append(sample_id)
            else:
                (cancelled if outcome.status == "cancelled" else finished).append(sample_id)
        return groups


def _write_ids(terminal: pytest.TerminalReporter, what: str, ids: Sequence[str]) -> None:
    if ids:
        more = f", … ({len(ids) - _LISTED} more)" if len(ids) > _LISTED else ""
        terminal.write_line(f"{what}: {', '.join(ids[:_LISTED])}{more}")


def _without_verdict(outcome: Outcome) -> list[str]:
    results = {"main": outcome.main, "side": outcome.side}
    return [
        f"{outcome.sample_id} ({task} task)"
        for task, result in results.items()
        if result is not None and result.no_verdict
    ]


def _text(report: pytest.TestReport, sample_id: str | None) -> str:
    if isinstance(report.longrepr, tuple):  # a skip: file, line, reason
        text = f"{report.nodeid}: {report.longrepr[2].removeprefix('Skipped: ')}"
        trajectory = dict(report.user_properties).get("control_trajectory")
        return f"{text}\n  trajectory: {trajectory}" if trajectory else text
    return f"{sample_id or report.nodeid}: {report.longrepr}"


def _success(success: bool | None) -> str:
    return "null" if success is None else str(success).lower()
