"""Samples that do not come up, from the command line to the report, on the real engine."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.containers import things_of
from support.engine_containers import image
from support.environments import COMPOSE, write_compose
from support.flaky_engine import FlakyEngine, flaky_engine
from support.sessions import ControlPytester, lines_with

# Imported here, since pytester forgets what is first imported in a run of its own.
from control_tower.sandboxes.docker import provider  # noqa: F401

pytestmark = [pytest.mark.docker, pytest.mark.slow]

ARGS = ("-p", "no:cacheprovider", "--ct-env=mini", "--ct-all", "--ct-untrusted-policy=reference")
NO_ADDRESSES = (500, "all predefined address pools have been fully subnetted")
CREATE, NETWORK = "POST /containers/create", "POST /networks/create"
OF_A_SAMPLE = '-default"'
SIBLING = """
  store:
    build: {context: ., args: {BASE_IMAGE: "${CT_BASE_IMAGE:-debian:12-slim}"}}
    init: true
    volumes: ["data:/data"]
volumes: {data: {}}
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FlakyEngine]:
    """The engine of the runs, which refuses what it is told to."""
    with flaky_engine(tmp_path) as made:
        monkeypatch.setenv("DOCKER_HOST", made.host)
        yield made


def test_a_pool_without_addresses_is_tried_again_and_is_no_attempt_of_the_sample(
    control: ControlPytester, engine: FlakyEngine
) -> None:
    root = control.environment(side={})
    (root / "codebase" / "compose.yml").write_text(COMPOSE + SIBLING.lstrip("\n"))
    engine.refuse(NETWORK, *NO_ADDRESSES, having=OF_A_SAMPLE)
    result = control.run_plain(*ARGS, "--ct-retry-on-error=0")
    result.assert_outcomes(passed=1)
    (line,) = lines_with(result, "is tried again")
    assert "environment 'mini': its sandbox did not start" in line
    assert "(1 of 7): all predefined address pools" in line
    assert [t["attempts"] for t in control.trajectories().values()] == [1]
    assert engine.asked(NETWORK) >= 2
    assert things_of("mini") == []


def test_without_retries_it_is_an_error_at_once(
    control: ControlPytester, engine: FlakyEngine
) -> None:
    root = control.environment(side={})
    (root / "codebase" / "compose.yml").write_text(COMPOSE + SIBLING.lstrip("\n"))
    engine.refuse(NETWORK, *NO_ADDRESSES, times=2, having=OF_A_SAMPLE)
    result = control.run_plain(*ARGS, "--ct-startup-retries=0", "--ct-retry-on-error=0")
    assert result.parseoutcomes() == {"errors": 1}
    assert lines_with(result, "all predefined address pools")
    assert lines_with(result, "is tried again") == []
    assert things_of("mini") == []


@pytest.mark.parametrize(
    ("more", "refused", "words"),
    [
        (
            "    command: [sh, -c, 'echo no such table; exit 3']\n",
            None,
            ["service 'default' ended at its start, with exit code 3", "no such table"],
        ),
        ("    entrypoint: [/nothing/here]\n", None, ["/nothing/here"]),
        ("", (404, "No such image: gone:1"), ["No such image: gone:1"]),
    ],
    ids=["exits", "no program", "no image"],
)
def test_what_stays_is_tried_once_however_often_samples_are_repeated(
    control: ControlPytester,
    engine: FlakyEngine,
    more: str,
    refused: tuple[int, str] | None,
    words: list[str],
) -> None:
    root = control.environment(side={})
    write_compose(root, more=more)
    if refused:
        engine.refuse(CREATE, *refused)
    result = control.run_plain(*ARGS, "--ct-retry-on-error=3")
    assert result.parseoutcomes() == {"errors": 1}
    assert result.ret == 10
    for each in words:
        assert lines_with(result, each)
    assert lines_with(result, "is tried again") == []
    assert engine.asked(CREATE) == 1
    assert lines_with(result, "attempts") == []
    [trajectory] = control.trajectories().values()
    assert (trajectory["attempts"], trajectory["earlier_attempts"]) == (1, [])
    assert trajectory["error"].startswith("SandboxStartError: ")
    assert things_of("mini") == []


@pytest.fixture
def tagged() -> Iterator[Callable[[str], str]]:
    """Builds an image for the agent with this command; its name is the same each time."""
    name = "control-tower-test-starts:1"
    lines = (f"FROM {image()}", "RUN useradd --create-home agent && mkdir -m 777 /app")

    def build(command: str) -> str:
        text = "\n".join([*lines, f"CMD {command}"])
        args = ["docker", "build", "-q", "-t", name, "-"]
        subprocess.run(args, input=text, text=True, check=True, capture_output=True)
        return name

    yield build
    subprocess.run(["docker", "rmi", "-f", name], check=True, capture_output=True)


def test_a_failure_is_not_inherited_by_the_next_run_of_the_process(
    control: ControlPytester, tagged: Callable[[str], str]
) -> None:
    root = control.environment(side={})
    service = f"services: {{default: {{image: {tagged('exit 3')}, init: true}}}}\n"
    (root / "codebase" / "compose.yml").write_text(service)
    run = control.pytester.runpytest_inprocess
    result = run(*ARGS, "-p", "no:randomly")
    assert result.parseoutcomes() == {"errors": 1}
    assert lines_with(result, "ended at its start, with exit code 3")
    tagged("sleep infinity")
    run(*ARGS, "-p", "no:randomly").assert_outcomes(passed=1)
    assert things_of("mini") == []


def test_what_a_run_has_is_listed_with_its_run(control: ControlPytester) -> None:
    root = control.environment(side={})
    (root / "codebase" / "compose.yml").write_text(COMPOSE + SIBLING.lstrip("\n"))
    control.pytester.makepyfile(
        test_mine="""
        import subprocess, sys

        def test_listed(control_sandbox):
            done = subprocess.run(
                [sys.executable, "-m", "control_tower.cli", "sandbox", "list"],
                capture_output=True, text=True, check=True,
            )
            open("listed.txt", "w").write(done.stdout)
        """
    )
    control.run_plain(*ARGS, "test_mine.py").assert_outcomes(passed=1)
    (folder,) = control.pytester.path.glob("logs/*")
    run = folder.name.rpartition("_")[2]
    listed = (control.pytester.path / "listed.txt").read_text().splitlines()
    mine = [line.split() for line in listed if run in line.split()]
    assert sorted(line[0] for line in mine) == ["container", "container", "network", "volume"]
    assert {line[2] for line in mine} == {"mini"}
    assert all("alive" in line for line in mine)


@pytest.mark.parametrize(
    ("name", "value"), [("CT_ENGINE_CALLS", "many"), ("CT_HOST_REACHABLE", "yes")]
)
def test_a_variable_that_means_nothing_is_one_line_before_anything_starts(
    control: ControlPytester, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    control.environment()
    monkeypatch.setenv(name, value)
    result = control.ct("run", "eval2", "-e", "mini", "--all", "--untrusted-policy", "reference")
    assert result.ret == 4
    [line] = [line for line in result.errlines if line.strip()]
    assert f"{name}='{value}'" in line
    assert list(control.pytester.path.glob("logs/*")) == []
