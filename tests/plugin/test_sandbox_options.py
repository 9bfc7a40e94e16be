"""Options of sandboxes as pytest's, and what sandboxes warn of while a run lasts."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from support.sessions import ControlPytester

from pytest_control_tower.options import merged
from pytest_control_tower.sandbox_news import LOGGER, SandboxNews


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--ct-no-internet", "--ct-startup-retries=2"],
            "--ct-startup-retries and --ct-no-internet cannot go with --ct-sandbox bwrap: only the "
            "docker sandbox honours them; leave out --ct-startup-retries and --ct-no-internet, or "
            "--ct-sandbox bwrap",
        ),
        (
            ["--ct-sandbox-arg=a=1"],
            "--ct-sandbox-arg cannot go with --ct-sandbox bwrap, which takes no arguments; name "
            "the sandbox that they are for with --ct-sandbox",
        ),
        (["--ct-startup-retries=-1"], "--ct-startup-retries: -1 is below 0"),
        (
            ["--ct-startup-retries=two"],
            "ERROR: --ct-startup-retries: 'two' is not a whole number of 0 or more",
        ),
        (
            ["--ct-sandbox=my.boxes:mine"],
            "--ct-sandbox: cannot import 'my.boxes' of 'my.boxes:mine'; give the directory that it "
            "is in with --extra-src (with pytest, --ct-extra-src)",
        ),
        (["--ct-sandbox=bwarp"], "--ct-sandbox: no sandbox is named 'bwarp'; did you mean 'bwrap'"),
    ],
)
def test_what_is_wrong_is_said_in_pytest_s_spelling(
    control: ControlPytester, more: list[str], message: str
) -> None:
    control.environment()
    result = control.run("--ct-all", "--ct-untrusted-policy=noop", *more)
    assert result.ret == 4
    assert message in result.stderr.str()
    assert "usage:" not in result.stderr.str()


def test_what_an_ini_file_isolates_is_not_dropped_in_silence(control: ControlPytester) -> None:
    control.environment()
    control.pytester.makeini("[pytest]\nct_no_intranet = true\n")
    argv = ("--ct-just-main-tasks", "--ct-untrusted-policy=noop", "--ct-assert=none")
    result = control.run(*argv)
    assert result.ret == 4
    assert "--ct-no-intranet cannot go with --ct-sandbox bwrap" in result.stderr.str()
    assert control.run(*argv, "-o", "ct_no_intranet=false").ret == 0


@pytest.mark.parametrize(
    ("sandbox", "left"),
    [
        (None, {"sandbox": "mine", "sandbox_arg": ["a=1"], "startup_retries": 3}),
        ("docker", {"sandbox": "docker", "startup_retries": 3}),
        ("bwrap", {"sandbox": "bwrap"}),
    ],
)
def test_arguments_of_an_ini_file_s_sandbox_are_not_another_s(
    sandbox: str | None, left: dict[str, Any]
) -> None:
    ini = {"sandbox": "mine", "sandbox_arg": ["a=1"], "startup_retries": 3, "no_internet": True}
    asked = {} if sandbox is None else {"sandbox": sandbox}
    assert merged(asked, ini) == {**left, "no_internet": True}


def test_warnings_of_sandboxes_are_lines() -> None:
    lines: list[str] = []
    news = SandboxNews(lines.append)
    deep = logging.getLogger(f"{LOGGER}.docker")
    deep.warning("too early")
    news.begin()
    try:
        deep.warning("start-up of %s failed:\n  %s", "ledger", "time-out")
        deep.info("not for users")
        logging.getLogger("control_tower.other").warning("another's")
    finally:
        news.end()
    deep.warning("too late")
    assert lines == ["control tower: start-up of ledger failed: time-out"]


def test_what_cannot_be_told_ends_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(line: str) -> None:
        raise OSError("no space")

    monkeypatch.setattr(logging, "raiseExceptions", True)
    news = SandboxNews(full)
    news.begin()
    try:
        logging.getLogger(LOGGER).warning("trying again")
    finally:
        news.end()
    assert "no space" in capsys.readouterr().err


WARNS = """
import logging
from control_tower.scripted import submit
from control_tower.components import policy
from control_tower.contracts import Policy


class Warns(Policy):
    async def generate(self, turn):
        logging.getLogger("control_tower.sandboxes.docker").warning("once more (1 of 7)")
        return submit(text="", model="scripted/mine")


@policy(modes=["honest"], asserts="none")
def warns() -> Policy:
    '''Warn as a sandbox does.'''
    return Warns()
"""


@pytest.mark.parametrize("more", [(), ("-q",), ("--capture=no",)])
def test_a_run_shows_them_once_whatever_is_captured(
    control: ControlPytester, more: tuple[Any, ...]
) -> None:
    control.environment()
    control.pytester.makepyfile(zz_warns=WARNS)
    control.pytester.syspathinsert()
    result = control.run("--ct-just-main-tasks", "--ct-untrusted-policy=zz_warns:warns", *more)
    assert result.ret == 0, result.stdout.str()
    assert result.outlines.count("control tower: once more (1 of 7)") == 1
    assert "once more" not in result.stderr.str()
    assert logging.getLogger(LOGGER).handlers == []


def test_a_run_shows_what_stays_of_another_before_it_starts(
    control: ControlPytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stays() -> list[str]:
        logging.getLogger(LOGGER).warning("directory /x of a run that ended stays")
        return []

    monkeypatch.setattr("control_tower.sandboxes.leftovers.remove_leftovers", stays)
    control.environment()
    result = control.run("--ct-just-main-tasks", "--ct-untrusted-policy=reference")
    assert result.ret == 0, result.stdout.str()
    said = "control tower: directory /x of a run that ended stays"
    assert result.outlines.count(said) == 1
    assert (
        result.outlines.index(said)
        < [
            number for number, line in enumerate(result.outlines) if "starting Inspect" in line
        ].pop()
    )
