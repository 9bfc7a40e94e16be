"""The progress line: what it says, and how it is shown on a terminal and elsewhere."""

from __future__ import annotations

import io
from typing import Any

import pytest

from control_tower.episode.outcome import Outcome, TaskResult
from control_tower.episode.verdict import ASSERTIONS
from control_tower.runners.base import Progress
from pytest_control_tower.progress import ProgressLine

FINISHED = Outcome(sample_id="e/m/-", status="scored")


def outcome(status: Any = "scored", success: bool | None = True, tokens: int = 0) -> Outcome:
    return Outcome(
        sample_id="e/m/-",
        status=status,
        main=TaskResult(success=success),
        usage={"untrusted": tokens},
    )


class Screen(io.StringIO):
    """A stream that says whether it is a terminal."""

    def __init__(self, *, tty: bool) -> None:
        super().__init__()
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty


class Later:
    """A future that is done after so many waits, each of which passes the given seconds."""

    def __init__(self, stage: Stage, waits: int, seconds: float, end: Any = FINISHED) -> None:
        self.stage, self.waits, self.seconds, self.end = stage, waits, seconds, end

    def result(self, timeout: float | None = None) -> Outcome:
        if self.waits == 0:
            if isinstance(self.end, BaseException):
                raise self.end
            return self.end
        self.waits -= 1
        self.stage.now += self.seconds
        raise TimeoutError


class Stage:
    """A progress line with a clock, a screen and pytest's own writer in our hands."""

    def __init__(
        self,
        pytester: pytest.Pytester,
        *,
        tty: bool,
        argv: tuple[str, ...] = (),
        assertion: str = "main-task-solved",
    ) -> None:
        self.now = 100.0
        self.looks = 0
        self.stop_at: int | None = None
        self.progress = Progress(total=4, running=2, outcomes=())
        self.screen = Screen(tty=tty)
        config = pytester.parseconfig(*argv)
        reporter = pytest.TerminalReporter(config, self.screen)
        config.pluginmanager.register(reporter, "terminalreporter")
        self.writer = config.get_terminal_writer()
        self.writer.fullwidth = 80
        self.line = ProgressLine(
            config,
            lambda: self.progress,
            ASSERTIONS[assertion],
            clock=lambda: self.now,
            stream=self.screen,
        )

    def wait(self, waits: int, *, seconds: float, end: Any = FINISHED) -> Outcome:
        return self.line.wait(Later(self, waits, seconds, end), meanwhile=self.look)  # type: ignore[arg-type]

    def look(self) -> None:
        """What is done between two waits; it may raise."""
        self.looks += 1
        if self.looks == self.stop_at:
            raise RuntimeError("stopped elsewhere")

    @property
    def shown(self) -> str:
        return self.screen.getvalue()


def test_text_counts_what_is_done_and_what_came_of_it(pytester: pytest.Pytester) -> None:
    stage = Stage(pytester, tty=True)
    stage.progress = Progress(
        total=12,
        running=3,
        outcomes=(
            outcome(tokens=1_000),
            outcome(success=False, tokens=234),
            outcome("unscored", success=None),
            outcome("errored", success=None),
            outcome("setup_error", success=None),
        ),
    )
    stage.now += 65
    assert stage.line.text() == (
        "control: 5/12 done, 3 running, 1 failed, 2 errored, 1:05, 1,234 tokens"
    )


def test_what_comes_before_the_first_sample_is_said(pytester: pytest.Pytester) -> None:
    stage = Stage(pytester, tty=True)
    stage.progress = Progress(total=2, running=0, outcomes=(), preparing="making images")
    assert stage.line.text().startswith("control: making images, 0/2 done, 0 running")


def test_what_has_failed_is_what_the_run_asserts(pytester: pytest.Pytester) -> None:
    stage = Stage(pytester, tty=True, assertion="nothing-free")
    outcomes = (outcome(success=True), outcome(success=False), outcome("errored", success=True))
    stage.progress = Progress(total=3, running=0, outcomes=outcomes)
    assert "1 failed, 1 errored" in stage.line.text()


def test_elapsed_time(pytester: pytest.Pytester) -> None:
    stage = Stage(pytester, tty=True)
    for seconds, text in [
        (0, "0:00"),
        (9.9, "0:09"),
        (60, "1:00"),
        (3_599, "59:59"),
        (3_600, "1:00:00"),
        (36_061, "10:01:01"),
    ]:
        stage.now = 100.0 + seconds
        assert f", {text}, " in stage.line.text()


def test_a_terminal_gets_a_line_below_that_is_drawn_over_and_taken_away(
    pytester: pytest.Pytester,
) -> None:
    stage = Stage(pytester, tty=True)
    assert stage.wait(2, seconds=1) == FINISHED
    drawn = stage.shown.split("\n\x1b[2K")
    assert drawn[0] == ""
    assert drawn[1].startswith("control: 0/4 done, 2 running, 0 failed, 0 errored, 0:01")
    assert drawn[2].startswith("control: 0/4 done, 2 running, 0 failed, 0 errored, 0:02")
    assert drawn[3] == "\x1b[A\r"
    assert len(drawn) == 4
    assert all(part.endswith("\x1b[A\r") for part in drawn[1:])


def test_the_cursor_goes_back_to_where_pytest_s_own_line_ends(pytester: pytest.Pytester) -> None:
    stage = Stage(pytester, tty=True)
    stage.writer.write("test_x.py ..")
    stage.wait(1, seconds=1)
    assert stage.shown.count("\x1b[A\r\x1b[12C") == 2
    stage.writer.write(".")
    assert stage.shown.endswith("\x1b[12C.")


def test_a_line_wider_than_the_terminal_is_cut(pytester: pytest.Pytester) -> None:
    stage = Stage(pytester, tty=True)
    stage.writer.fullwidth = 20
    stage.wait(1, seconds=1)
    assert "\n\x1b[2Kcontrol: 0/4 done, \x1b[A" in stage.shown


def test_a_sample_that_is_done_at_once_draws_nothing(pytester: pytest.Pytester) -> None:
    for tty in (True, False):
        stage = Stage(pytester, tty=tty)
        assert stage.wait(0, seconds=1) == FINISHED
        assert stage.shown == ""


def test_an_interrupt_leaves_the_line_and_goes_below_it(pytester: pytest.Pytester) -> None:
    stage = Stage(pytester, tty=True)
    with pytest.raises(KeyboardInterrupt):
        stage.wait(1, seconds=1, end=KeyboardInterrupt())
    [drawn] = stage.shown.split("\n\x1b[2K")[1:]
    assert drawn.startswith("control: 0/4 done, 2 running")
    assert drawn.endswith("\x1b[A\r\n\n")


def test_an_interrupt_before_anything_was_drawn_writes_nothing(pytester: pytest.Pytester) -> None:
    stage = Stage(pytester, tty=True)
    with pytest.raises(KeyboardInterrupt):
        stage.wait(0, seconds=1, end=KeyboardInterrupt())
    assert stage.shown == ""


def test_elsewhere_a_plain_line_comes_every_ten_seconds(pytester: pytest.Pytester) -> None:
    stage = Stage(pytester, tty=False)
    stage.wait(9, seconds=1)
    assert stage.shown == ""
    stage.wait(1, seconds=1)
    assert stage.shown.strip() == (
        "control: 0/4 done, 2 running, 0 failed, 0 errored, 0:10, 0 tokens"
    )
    stage.wait(25, seconds=1)
    assert [part.split(", ")[4] for part in stage.shown.split("control: ")[1:]] == [
        "0:10",
        "0:20",
        "0:30",
    ]
    assert "\x1b" not in stage.shown
    assert "\r" not in stage.shown


def test_a_plain_line_does_not_start_within_pytest_s_own(pytester: pytest.Pytester) -> None:
    stage = Stage(pytester, tty=False)
    stage.writer.write("test_x.py ..")
    stage.wait(1, seconds=10)
    assert stage.shown.startswith("test_x.py ..\ncontrol: ")


@pytest.mark.parametrize("tty", [True, False])
def test_quiet_means_no_line(pytester: pytest.Pytester, tty: bool) -> None:
    stage = Stage(pytester, tty=tty, argv=("-q",))
    stage.wait(3, seconds=30)
    assert stage.shown == ""


def test_what_is_raised_meanwhile_ends_the_waiting_and_takes_the_line_away(
    pytester: pytest.Pytester,
) -> None:
    stage = Stage(pytester, tty=True)
    stage.stop_at = 2
    with pytest.raises(RuntimeError, match="stopped elsewhere"):
        stage.wait(5, seconds=1)
    assert stage.shown.endswith("\n\x1b[2K\x1b[A\r")
