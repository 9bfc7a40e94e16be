"""`ct envs check` of the bundled environments, of a new one, and of ones with faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.containers import things_of
from support.environments import EnvironmentFiles, main_task, python_scorer, write_compose
from support.sessions import ControlPytester

from control_tower.environments.discovery import LIBRARY
from control_tower.environments.loading import load_environment

pytestmark = pytest.mark.slow

BUNDLED = sorted(path.parent.name for path in LIBRARY.glob("*/environment.yaml"))
PORTABLE = [name for name in BUNDLED if load_environment(LIBRARY / name).info.portable]
CLAIMS = 7

ALWAYS_YES = "print('CORRECT: why not')\n"
MOODY = """
import os
seen = os.path.exists('seen')
open('seen', 'w').close()
print('INCORRECT: again' if seen else 'CORRECT: first')
"""
HANGS = python_scorer("    await asyncio.sleep(1000)\n")
CRASHES = python_scorer("    raise KeyError('gone')\n")


def check(control: ControlPytester, *argv: str) -> tuple[int, str]:
    """Exit code and report of `ct envs check`."""
    result = control.ct("envs", "check", *argv)
    return int(result.ret), result.stdout.str().partition("===== what does")[2]


def claims(report: str) -> dict[str, str]:
    """By claim: `ok`, `FAILED` or `not tried`."""
    found = {}
    for line in report.splitlines():
        for verdict in ("ok", "FAILED", "not tried"):
            _, marked, after = line.partition(f"  {verdict}")
            if marked and (verdict == "not tried" or " of " in after):
                found[line.partition(f"  {verdict}")[0].split(maxsplit=1)[1].strip()] = verdict
    return found


@pytest.mark.docker
@pytest.mark.parametrize("name", PORTABLE)
def test_references_of_the_portable_ones_work_in_docker(
    control: ControlPytester, name: str
) -> None:
    """That they hold is checked in bwrap; here, that their image and compose file serve."""
    chosen = ("-e", name, "--all", "--limit", "4", "--untrusted-policy", "reference")
    result = control.ct("run", "eval2", *chosen)
    result.assert_outcomes(passed=4)
    assert things_of(name) == []


@pytest.mark.docker
@pytest.mark.parametrize("name", sorted(set(BUNDLED) - set(PORTABLE)))
def test_the_others_hold_in_docker(control: ControlPytester, name: str) -> None:
    code, report = check(control, name, "--quick", "--max-samples", "3")
    assert list(claims(report).values()) == ["ok"] * CLAIMS, report
    assert code == 0
    assert things_of(name) == []


@pytest.mark.parametrize("name", PORTABLE)
def test_the_portable_ones_hold_in_bwrap(control: ControlPytester, name: str) -> None:
    code, report = check(control, name, "--quick", "--sandbox", "bwrap", "--max-samples", "3")
    assert list(claims(report).values()) == ["ok"] * CLAIMS, report
    assert code == 0


@pytest.mark.parametrize("sandbox", ["bwrap", pytest.param("docker", marks=pytest.mark.docker)])
def test_a_new_environment_holds(control: ControlPytester, sandbox: str) -> None:
    assert control.ct("envs", "new", "fresh", "--in", "mine").ret == 0
    code, report = check(control, "mine/fresh", "--sandbox", sandbox)
    assert list(claims(report).values()) == ["ok"] * CLAIMS, report
    assert code == 0


def test_each_fault_of_a_scorer_or_reference_is_said(control: ControlPytester) -> None:
    EnvironmentFiles(
        name="faulty",
        main={
            "always": main_task(check=ALWAYS_YES),
            "moody": main_task(check=MOODY),
            "hangs": main_task(scorer=HANGS),
            "crashes": main_task(scorer=CRASHES),
            "no_reference": main_task(reference="echo no > main.txt\n"),
            "good": main_task(),
        },
        side={},
    ).write(control.environments)
    code, report = check(control, "faulty", "--sandbox", "bwrap", "--scorer-timeout", "5")
    assert code == 1
    assert claims(report) == {
        "the sandbox comes up and is set up": "ok",
        "nothing is solved for free": "FAILED",
        "every reference solves its main task": "FAILED",
        "every reference attack succeeds": "not tried",
        "attacks leave the main task solved": "not tried",
        "scoring twice gives the same answer": "FAILED",
        "every scorer comes to an answer": "FAILED",
    }
    for words in (
        "faulty/always/-: main task solved without doing anything: why not",
        "faulty/moody/- (reference): main task: scored twice: ",
        "main task: the scorer did not finish within 5 s",
        "main task: the scorer crashed: KeyError: 'gone'",
        "faulty/no_reference/-: main task not solved: main.txt says no",
    ):
        assert words in report
    assert "faulty/good" not in report


@pytest.mark.docker
def test_a_container_that_ends_at_once_is_said_once(control: ControlPytester) -> None:
    root = EnvironmentFiles(name="dying").write(control.environments)
    write_compose(root, more="    command: ['false']\n")
    result = control.ct("envs", "check", "dying")
    assert result.ret == 1
    report = result.stdout.str()
    assert (
        claims(report.partition("===== what does")[2])["the sandbox comes up and is set up"]
        == "FAILED"
    )
    assert "===== noop =====" in report
    assert "===== reference =====" not in report  # it would meet the same
    assert things_of("dying") == []


def test_only_what_changed_is_checked(control: ControlPytester) -> None:
    EnvironmentFiles(name="shop", main={"fix": main_task(), "add": main_task()}, side={}).write(
        control.environments
    )
    for arguments in (["init", "-q"], ["add", "environments"], ["commit", "-q", "-m", "first"]):
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.test"]
        control.pytester.run("git", *identity, *arguments)
    code, report = check(control, "--changed-since", "HEAD", "--sandbox", "bwrap")
    assert (code, report) == (0, "")
    fix = control.environments / "shop" / "main_tasks" / "fix"
    (fix / "solution" / "02.sh").write_text("true\n")
    code, report = check(control, "--changed-since", "HEAD", "--sandbox", "bwrap")
    assert code == 0, report
    tasks = {t["main_task"]["id"] for t in _trajectories(control)}
    assert tasks == {"fix"}


def _trajectories(control: ControlPytester) -> list[dict]:
    import json

    files = Path(control.pytester.path).glob("logs/*_check_*/*/*/trajectories/*.json")
    return [json.loads(file.read_text()) for file in files]
