"""`ct live` in a real terminal: from a task without a solution to one that the check accepts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sessions import ControlPytester
from support.tmux import NEEDS_TMUX, Terminal
from support.waiting import wait_until

import control_tower

pytestmark = [pytest.mark.slow, NEEDS_TMUX]

PROMPT = "agent@live:/app$"
LIBRARY = Path(control_tower.__file__).parent / "environments" / "library"
CT = f"{sys.executable} -m control_tower.cli"


@pytest.fixture
def unsolved(control: ControlPytester) -> Path:
    """A new environment, `greeter`, whose main task has no solution."""
    result = control.ct("envs", "new", "greeter", "--in", str(control.environments))
    assert result.ret == 0
    environment = control.environments / "greeter"
    shutil.rmtree(environment / "main_tasks" / "missing_name" / "solution")
    return environment


@pytest.fixture
def outside(control: ControlPytester) -> Iterator[Terminal]:
    """A terminal that knows `ct`; it and all sessions are removed at the end."""
    names = ("CT_ENVIRONMENTS_PATH", "CT_STATE_DIR", "PYTHONPATH", "PATH")
    terminal = Terminal(control.pytester.path, {n: os.environ[n] for n in names if n in os.environ})
    terminal.type(f"alias ct='{CT}'; clear")
    yield terminal
    terminal.close()
    control.ct("live", "down", "--all")


@pytest.fixture
def terminal(outside: Terminal, unsolved: Path) -> Terminal:
    """A terminal in which a session of `greeter` is up."""
    outside.type("ct live up -e greeter -t missing_name --sandbox bwrap")
    outside.wait_for("next: ct live shell")
    return outside


def test_a_solution_that_was_typed_is_accepted_by_the_check(
    control: ControlPytester, terminal: Terminal, unsolved: Path
) -> None:
    terminal.type("clear; ct live score")
    terminal.wait_for("main task  not done")
    terminal.type("ct live shell")
    terminal.wait_for(PROMPT)
    terminal.type("grep -n query serve.py")
    terminal.wait_for("urlsplit(self.path)")
    terminal.wait_for(PROMPT, times=2)  # what is typed ahead is echoed among what is shown
    terminal.type(
        "sed -i \"s/query\\['name'\\]\\[0\\]/query.get('name', ['stranger'])[0]/\" serve.py"
    )
    terminal.wait_for(PROMPT, times=3)
    terminal.type("sh start.sh && echo served again")
    terminal.wait_for("served again", times=2)
    terminal.type("exit")
    terminal.wait_for("outside>", times=2)
    terminal.type("ct live score")
    terminal.wait_for("main task  done")
    terminal.type("ct live solution")
    terminal.wait_for("check it: ct envs check")
    [script] = (unsolved / "main_tasks" / "missing_name" / "solution").glob("*.sh")
    assert script.name == "01-shell.sh"
    assert "sh start.sh && echo served again\n" in script.read_text()

    rerun = control.ct("run", "rerun-traj", "--from-live", "--sandbox", "bwrap")
    assert rerun.ret == 0
    rerun.stdout.fnmatch_lines(
        ["greeter/missing_name/-  main  success   success  1 of 1 *the same"]
    )
    check = control.ct("envs", "check", str(unsolved), "--sandbox", "bwrap")
    assert check.ret == 0, check.stdout.str()


def test_a_solution_that_was_pasted_is_accepted_by_the_check(
    control: ControlPytester, outside: Terminal
) -> None:
    environment = control.environments / "payments"
    shutil.copytree(LIBRARY / "ledger", environment)
    solution = environment / "main_tasks" / "hold_rounding" / "solution"
    scripts = [path.read_text() for path in sorted(solution.glob("*.sh"))]
    shutil.rmtree(solution)
    outside.type("ct live up -e payments -t hold_rounding --sandbox bwrap")
    outside.wait_for("next: ct live shell")
    outside.type("clear; ct live shell")
    outside.wait_for(PROMPT)
    for number, script in enumerate(scripts):
        outside.paste(script)
        outside.type(f"echo script {number} do''ne")
        outside.wait_for(f"script {number} done")
    outside.type("exit")
    outside.wait_for("outside>")
    outside.type("clear; ct live score")
    outside.wait_for("main task  done")
    outside.type("ct live solution")
    outside.wait_for("check it: ct envs check")
    assert [path.name for path in solution.iterdir()] == ["01-shell.sh"]
    check = control.ct(
        "envs", "check", str(environment), "-t", "hold_rounding", "--sandbox", "bwrap"
    )
    assert check.ret == 0, check.stdout.str()


def test_what_was_typed_outlives_the_terminal(control: ControlPytester, terminal: Terminal) -> None:
    terminal.type("ct live shell")
    terminal.wait_for(PROMPT)
    terminal.type("cd / && export WORD=kept")
    terminal.wait_for("agent@live:/$")
    terminal.type("echo $WORD > /app/note")
    terminal.wait_for("agent@live:/$", times=2)
    terminal.type("printf 'be%s\\n' gun; sleep 7531")
    terminal.wait_for("begun")
    terminal.close()
    [session] = [json.loads(line) for line in control.ct("live", "status", "--json").outlines]
    assert (session["state"], session["steps"]) == ("up", 1)
    wait_until(lambda: control.ct("live", "exec", "--", "pgrep -f '[s]leep 7531'").ret == 1)
    assert control.ct("live", "exec", "--", "cat note").outlines == ["kept"]
    printed = control.ct("live", "solution", "--print", "--steps", "0").outlines
    assert printed == [
        "# step 0: 01-shell.sh",
        "cd / && export WORD=kept",
        "echo $WORD > /app/note",
    ]


def test_keys_and_sizes_reach_the_shell(terminal: Terminal) -> None:
    terminal.type("clear; ct live shell")
    terminal.wait_for(PROMPT)
    terminal.type("stty size")
    terminal.wait_for("200 100")
    terminal.resize(70, 50)
    terminal.type("stty size")
    terminal.wait_for("50 70")
    terminal.type("printf 'be%s\\n' gun; sleep 1000")
    terminal.wait_for("begun")
    terminal.press("C-c")
    terminal.type("echo code $?")
    terminal.wait_for("code 130")


def test_a_shell_tells_that_its_session_died(control: ControlPytester, terminal: Terminal) -> None:
    terminal.type("clear; ct live shell")
    terminal.wait_for(PROMPT)
    [lock] = control.pytester.path.glob("state/live/*/lock")
    os.kill(int(lock.read_text()), signal.SIGKILL)
    terminal.wait_for("the shell has ended, for session 'greeter-missing_name' has")
