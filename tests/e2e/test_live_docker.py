"""`ct live` in Docker: the agent's user, siblings, a shell in a terminal, and nothing left."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from support.sessions import ControlPytester
from support.tmux import NEEDS_TMUX, Terminal
from support.waiting import wait_until

from control_tower.sandboxes.docker.engine import engine

pytestmark = [pytest.mark.slow, pytest.mark.docker]


@pytest.fixture(params=["", "--sandbox-isolation"], ids=["plain", "isolated"])
def session(control: ControlPytester, request: pytest.FixtureRequest) -> Iterator[ControlPytester]:
    control.environment()
    more = [request.param] if request.param else []
    result = control.ct("live", "up", "-e", "mini", "-t", "fix", "--name", "one", *more)
    assert result.ret == 0, result.stderr.str()
    yield control
    control.ct("live", "down", "--all")


def test_commands_are_the_agents(session: ControlPytester) -> None:
    done = session.ct("live", "exec", "--", "id -un; cat /secret; echo yes > main.txt")
    assert done.outlines[0] == "agent"
    assert "Permission denied" in done.stderr.str()
    assert session.ct("live", "score").ret == 0


@NEEDS_TMUX
def test_a_shell_is_as_confined_as_the_agents_commands(session: ControlPytester) -> None:
    names = ("CT_ENVIRONMENTS_PATH", "CT_STATE_DIR", "PYTHONPATH", "PATH", "DOCKER_HOST")
    environment = {name: os.environ[name] for name in names if name in os.environ}
    terminal = Terminal(session.pytester.path, environment)
    try:
        terminal.type(f"{sys.executable} -m control_tower.cli live shell")
        terminal.wait_for("agent@live:/app$")
        terminal.type("echo $(id -un) in $PWD; grep -c . /secret")
        terminal.wait_for("agent in /app")
        terminal.wait_for("Permission denied")
        terminal.type("printf 'be%s\\n' gun; sleep 7531")
        terminal.wait_for("begun")
    finally:
        terminal.close()
    wait_until(lambda: session.ct("live", "exec", "--", "pgrep -f '[s]leep 7531'").ret == 1)
    printed = session.ct("live", "solution", "--print", "--steps", "0").outlines
    assert printed == ["# step 0: 01-shell.sh", "echo $(id -un) in $PWD; grep -c . /secret"]


def test_nothing_of_it_is_left(session: ControlPytester) -> None:
    [container] = session.ct("live", "exec", "--", "hostname").outlines
    assert session.ct("live", "down").outlines == ["session 'one' is down"]
    with engine() as client:
        ids = [each.id or "" for each in client.containers.list(all=True)]
    assert not any(id.startswith(container) for id in ids)
