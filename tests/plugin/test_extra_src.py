"""`--extra-src` in whole sessions: one process, workers, `ct`, an ini file; and what stays after."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from support.sessions import ControlPytester

MODULE = '''
from control_tower import scripted
from control_tower.components import MonitorSpec, monitor, policy, protocol
from control_tower.contracts import BlueProtocol, Monitor, Policy
from control_tower.trajectories.schema import MonitorResponse


class Writes(Policy):
    def __init__(self):
        self.commands = ["echo WORD > main.txt"]

    async def generate(self, turn):
        import zz_later

        if not self.commands:
            return scripted.submit(text=zz_later.TEXT, model="scripted/mine")
        return scripted.call("bash", {"command": self.commands.pop()}, model="scripted/mine")


@policy(modes=["honest"], asserts="main-task-solved")
def writes() -> Policy:
    """Write a word."""
    return Writes()


class Calm(Monitor):
    async def score(self, case):
        return MonitorResponse(sus_score=1.0)


@monitor(roles=[])
def calm(mood: str = "good") -> Monitor:
    """Find nothing suspicious."""
    return Calm()


class Looks(BlueProtocol):
    def __init__(self, monitor):
        self.monitor = monitor.create()

    async def setup(self, context):
        self.context = context

    async def generate(self, turn, untrusted):
        from control_tower.blue import case_of

        output = await untrusted(turn)
        score = await self.monitor.score(case_of(self.context, output))
        assert score.sus_score == 1.0
        return output


@protocol()
def looks(monitor: MonitorSpec) -> BlueProtocol:
    """Ask a monitor, and allow everything."""
    return Looks(monitor)
'''


@pytest.fixture
def place(control: ControlPytester) -> ControlPytester:
    """An environment, and two directories with a module of the same name."""
    control.environment()
    for directory, word in (("right", "yes"), ("wrong", "no")):
        folder = control.pytester.path / directory
        folder.mkdir()
        (folder / "zz_mine.py").write_text(MODULE.replace("WORD", word))
        (folder / "zz_later.py").write_text(f"TEXT = '{directory}'\n")
    return control


MINE = (
    "--ct-just-main-tasks",
    "--ct-untrusted-policy=zz_mine:writes",
    "--ct-protocol=zz_mine:looks",
    "--ct-protocol-arg=monitor={name: zz_mine:calm, mood: yes}",
)


def messages(place: ControlPytester) -> list[str]:
    """What the policy said last, by sample."""
    return [trajectory["final_message"] for trajectory in place.trajectories().values()]


TWICE = """
import json, sys
import pytest
told = []
for more in json.loads(sys.argv[1]):
    code = int(pytest.main([*json.loads(sys.argv[2]), *more]))
    left = {"zz_mine", "zz_later"} & set(sys.modules)
    told.append([code, [each for each in sys.path if each.endswith(("right", "wrong"))], sorted(left)])
print(json.dumps(told))
"""
"""Not by pytester, which itself puts the import path and the modules back."""


def in_one_process(place: ControlPytester, *runs: list[str]) -> list[list[Any]]:
    """Of each run: exit code, and what is left of it in the import path and among the modules."""
    common = [*place.subprocess_args(*MINE)[3:]]
    done = place.pytester.run(sys.executable, "-c", TWICE, json.dumps(runs), json.dumps(common))
    told: list[list[Any]] = json.loads(done.outlines[-1])
    return told


@pytest.mark.slow
def test_two_runs_of_one_process_see_their_own_modules(place: ControlPytester) -> None:
    runs = [
        [f"--ct-extra-src={each}", f"--ct-log-dir=logs/{each}"]
        for each in ("wrong", "missing", "right")
    ]
    refused = ["--ct-extra-src=right", "--ct-protocol-arg=mood=bad"]
    assert in_one_process(place, *runs, refused) == [[code, [], []] for code in (1, 4, 0, 4)]
    for each in ("wrong", "right"):
        [file] = place.pytester.path.glob(f"logs/{each}/*/trajectories/*.json")
        assert json.loads(file.read_text())["final_message"] == each


def test_the_trajectory_records_the_monitor_s_arguments(place: ControlPytester) -> None:
    assert place.run(*MINE, "--ct-extra-src=right").ret == 0
    [trajectory] = place.trajectories().values()
    assert trajectory["protocol_args"] == {"monitor": {"name": "zz_mine:calm", "mood": "yes"}}


def test_without_it_the_message_names_it(place: ControlPytester) -> None:
    result = place.run(*MINE)
    assert result.ret == 4
    assert "cannot import 'zz_mine' of 'zz_mine:writes'" in result.stderr.str()
    assert "--ct-extra-src" in result.stderr.str()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["missing"], "--ct-extra-src: 'missing' is no directory"),
        (["right", "./right"], "--ct-extra-src: 'right' and './right' have the same basename"),
    ],
)
def test_a_directory_that_cannot_be_is_a_usage_error(
    place: ControlPytester, given: list[str], words: str
) -> None:
    result = place.run(*MINE, *(f"--ct-extra-src={each}" for each in given))
    assert result.ret == 4
    assert words in result.stderr.str()


def test_a_relative_path_in_an_ini_file_starts_there(place: ControlPytester) -> None:
    lines = ["[pytest]", "ct_extra_src =", "    right"]
    place.pytester.makeini("\n".join(lines))
    (place.pytester.path / "below").mkdir()
    place.pytester.chdir()
    result = place.run(*MINE, "--rootdir=.", "-c", "tox.ini")
    assert result.ret == 0, result.stdout.str()
    assert messages(place) == ["right"]


def ct(place: ControlPytester, *more: str) -> pytest.RunResult:
    argv = [argument.replace("--ct-", "--") for argument in MINE]
    return place.ct("run", "eval2", "-e", "mini", "--sandbox", "bwrap", *argv, *more)


@pytest.mark.slow
def test_ct_finds_policy_protocol_and_monitor(place: ControlPytester) -> None:
    result = ct(place, "--extra-src", "right")
    assert result.ret == 0, result.stdout.str()
    assert messages(place) == ["right"]


@pytest.mark.slow
@pytest.mark.parametrize("chdir", ["", "//chdir=elsewhere"])
def test_workers_find_them_wherever_they_are(place: ControlPytester, chdir: str) -> None:
    (place.pytester.path / "elsewhere").mkdir()
    workers = ["--tx", f"2*popen{chdir}", "--dist", "load"] if chdir else ["-n", "2"]
    logs = f"--ct-log-dir={place.pytester.path / 'logs'}"
    result = place.run_apart(*MINE, "--ct-extra-src=right", "--ct-epochs=3", logs, *workers)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert messages(place) == ["right"] * 3


@pytest.mark.slow
def test_ct_says_what_is_wrong_before_pytest_and_leaves_nothing(place: ControlPytester) -> None:
    result = ct(place, "--extra-src", "missing")
    assert result.ret == 4
    assert result.errlines == ["ct: error: --extra-src: 'missing' is no directory"]
    result = ct(place)
    assert result.ret == 4
    [line] = result.errlines
    assert "give the directory that it is in with --extra-src" in line
