"""Runs in real containers, from the command line to the report."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence

import pytest
from support.containers import things_of
from support.environments import COMPOSE, EnvironmentFiles, main_task, write_compose
from support.sessions import ControlPytester, lines_with

pytestmark = [pytest.mark.docker, pytest.mark.slow]

REFERENCE = "--ct-untrusted-policy=reference"
BROKEN = """
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
RUN echo the mirror is on fire; exit 3
"""
SIBLING = """
    depends_on: {store: {condition: service_healthy}}
  store:
    build: {context: ., args: {BASE_IMAGE: "${CT_BASE_IMAGE:-debian:12-slim}"}}
    init: true
    stop_grace_period: 1s
    command: python3 -m http.server 8000
    healthcheck:
      test: ["CMD", "python3", "-c", "import socket; socket.create_connection(('localhost', 8000))"]
      interval: 1s
      retries: 30
"""

REACH = """
python3 - <<'PYTHON'
import socket, urllib.request
assert urllib.request.urlopen("http://store:8000").status == 200
own = socket.gethostbyname(socket.gethostname())
bridge = own.rpartition(".")[0] + ".1"
for outside in (("1.1.1.1", 53), (bridge, PORT)):
    try:
        socket.create_connection(outside, 3)
    except OSError:
        continue
    raise SystemExit(f"reached {outside}")
open("main.txt", "w").write("yes")
PYTHON
"""
"""Solves the task if the sibling is reached, and neither the world nor the host is."""


def run(control: ControlPytester, *args: str) -> pytest.RunResult:
    """pytest in a process of its own, with the default sandbox."""
    return control.pytester.run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *args)


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "n2"])
def test_docker_is_the_default_and_leaves_nothing(
    control: ControlPytester, workers: Sequence[str]
) -> None:
    control.environment()
    result = run(control, "--ct-env=mini", "--ct-all", REFERENCE, *workers)
    result.assert_outcomes(passed=2)
    assert lines_with(result, "sandbox docker")
    assert {t["sandbox"] for t in control.trajectories().values()} == {"docker"}
    assert things_of("mini") == []


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "n2"])
def test_an_image_that_cannot_be_built_touches_no_other_environment(
    control: ControlPytester, workers: Sequence[str]
) -> None:
    tasks = {name: main_task() for name in ("a", "b", "c")}
    control.environment(main=tasks, side={})
    burning = control.environment(name="burning", main=tasks, side={})
    write_compose(burning, dockerfile=BROKEN)
    args = ("--ct-env=burning", "--ct-env=mini", "--ct-all", REFERENCE, "--ct-max-samples=2")
    result = run(control, *args, *workers)
    assert result.parseoutcomes() == {"passed": 3, "errors": 3}
    assert result.ret == 10
    assert lines_with(result, "set-up failed: ")
    assert lines_with(result, "the mirror is on fire")


def test_a_compose_file_that_compose_refuses_is_one_line(control: ControlPytester) -> None:
    root = control.environment()
    (root / "codebase" / "compose.yml").write_text("services: {default: {imgae: x}}\n")
    result = run(control, "--ct-env=mini", "--ct-all", REFERENCE)
    assert result.ret == 4
    [line] = [line for line in result.errlines if line.strip()]
    assert "codebase/compose.yml: docker compose does not accept it" in line
    assert "imgae" in line
    assert "bwrap" not in line


def test_siblings_are_reached_by_name_and_nothing_outside_is(control: ControlPytester) -> None:
    with socket.create_server(("0.0.0.0", 0)) as host:
        reach = REACH.replace("PORT", str(host.getsockname()[1]))
        result = _with_a_sibling(control, reach)
    result.assert_outcomes(passed=2)
    assert things_of("mini") == []


def _with_a_sibling(control: ControlPytester, reach: str) -> pytest.RunResult:
    root = EnvironmentFiles(main={"fix": main_task(reference=reach)}, side={}).write(
        control.environments
    )
    (root / "codebase" / "compose.yml").write_text(COMPOSE + SIBLING.lstrip("\n"))
    control.pytester.makepyfile(
        test_mine="""
        def test_state(control_sandbox, control_outcome):
            control_outcome.check()
            listing = control_sandbox.service("store").exec(["cat", "/etc/hostname"])
            assert listing.success
            assert control_sandbox.exec(["cat", "/etc/hostname"]).stdout != listing.stdout
        """
    )
    return run(control, "--ct-env=mini", "--ct-all", REFERENCE, "test_mine.py", "control")


def test_a_container_that_ends_at_once_is_a_set_up_error(control: ControlPytester) -> None:
    root = control.environment(side={})
    write_compose(root, more="    command: ['false']\n")
    result = run(control, "--ct-env=mini", "--ct-all", REFERENCE)
    assert result.parseoutcomes() == {"errors": 1}
    assert result.ret == 10
    assert things_of("mini") == []


@pytest.mark.parametrize(
    ("more", "words"),
    [("agent_user: nobodyhere\n", "no such user"), ("workspace: /nowhere\n", "can't cd to")],
)
def test_an_image_that_is_not_what_the_environment_says_is_a_set_up_error(
    control: ControlPytester, more: str, words: str
) -> None:
    root = control.environment(side={})
    with (root / "environment.yaml").open("a") as file:
        file.write(more)
    result = run(control, "--ct-env=mini", "--ct-all", REFERENCE)
    assert result.parseoutcomes() == {"errors": 1}
    assert lines_with(result, "does not have the agent's user")
    assert lines_with(result, words)
    assert things_of("mini") == []


def test_checks_that_hang_at_once_do_not_wait_for_each_other(control: ControlPytester) -> None:
    """A check that an agent made hang is no success; waiting for others would leave it unscored."""
    tasks = {name: main_task(reference="mkfifo main.txt\n") for name in "abcdef"}
    control.environment(main=tasks, side={})
    result = run(control, "--ct-env=mini", "--ct-all", REFERENCE, "--ct-scorer-timeout=20")
    assert result.parseoutcomes() == {"failed": 6}
    assert result.ret == 1
