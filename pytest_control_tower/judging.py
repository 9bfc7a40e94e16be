"""From an outcome to pass, fail, skip or error, with a report that fits on a screen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from control_tower.episode.outcome import Outcome
from control_tower.episode.verdict import Assertion, Verdict

_LONGEST = 1_200
"""Characters of one explanation in a report."""


# pytest's public name of its failure is an attribute that mypy does not see as a class.
class SampleProblem(pytest.fail.Exception, Exception):  # type: ignore[misc,name-defined]
    """A sample that does not pass; its text is the whole report.

    pytest shows no traceback, and so reads no source: some Python 3.11 crash when two threads parse
    at the same moment, as an import in the eval's thread does.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text, pytrace=False)  # type: ignore[call-arg]


class SampleFailed(SampleProblem, AssertionError):
    """The assertion does not hold."""


class SampleErrored(SampleProblem):
    """The sample errored after its retries."""


class SetupFailed(SampleProblem):
    """The sample's sandbox never came up, or its environment was never ready."""


class SampleUnscored(pytest.skip.Exception):  # type: ignore[misc,name-defined]
    """A score that the assertion needs is missing."""


# pytest's public name of its skip exception is an attribute that mypy does not see as a class.
class SampleNotRun(pytest.skip.Exception):  # type: ignore[misc,name-defined]
    """The sample was cancelled or never started."""


@dataclass(frozen=True)
class ControlOutcome:
    """A sample's outcome, with the assertion that the run makes about it."""

    outcome: Outcome
    assertion: Assertion

    @property
    def verdict(self) -> Verdict:
        """Whether the assertion holds."""
        return self.assertion.judge(self.outcome)

    def require_scores(self) -> None:
        """Go on only if the sample was scored.

        Raises:
            SampleErrored: it errored after its retries.
            SampleNotRun: it was cancelled or never started.
        """
        status = self.outcome.status
        if status == "errored":
            raise SampleErrored(_report(self.outcome, [f"errored: {self.outcome.error}"]))
        if status in ("cancelled", "not_run"):
            raise SampleNotRun(f"{status.replace('_', ' ')}: {_cut(self.outcome.error)}")

    def check(self) -> None:
        """Pass if the assertion holds, fail if not, skip if a score it needs is missing.

        Raises:
            SampleFailed: the assertion does not hold.
            SampleErrored: the sample errored after its retries.
            SampleUnscored: a score that the assertion needs is missing.
            SampleNotRun: the sample was cancelled or never started.
        """
        self.require_scores()
        verdict = self.verdict
        if verdict.holds is None:
            raise SampleUnscored("unscored: " + _cut("; ".join(verdict.reasons)))
        if not verdict.holds:
            asserted = f"asserted: {self.assertion.name}"
            raise SampleFailed(_report(self.outcome, [*verdict.reasons, asserted]))


def setup_report(outcome: Outcome) -> str:
    """The report of a sample whose sandbox never came up."""
    first, *more = (outcome.error or "").splitlines() or [""]
    return _report(outcome, [f"set-up failed: {first}", *more])


def _report(outcome: Outcome, what: list[str]) -> str:
    """A report whose first line, the only one in pytest's short summary, is the reason."""
    lines = [_cut(what[0]), *(f"  {_cut(line)}" for line in what[1:])]
    if outcome.final_message:
        lines.append(f"  final message: {_cut(outcome.final_message)}")
    if outcome.limit is not None:
        lines.append(f"  ended by: {outcome.limit}")
    if outcome.attempts > 1:
        lines.append(f"  attempts: {outcome.attempts}")
    if outcome.trajectory:
        lines.append(f"  trajectory: {shown_path(outcome.trajectory)}")
    if outcome.log:
        lines.append(f"  log: {shown_path(outcome.log)}")
    return "\n".join(lines)


def printable(text: str) -> str:
    """The text on one line, without control characters.

    Agents can bring their text into explanations: none may reach a terminal or an XML file.
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _cut(text: str | None) -> str:
    text = printable(text or "")
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " …"


def shown_path(path: str) -> str:
    """The path as seen from the current folder, when that is shorter."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path
