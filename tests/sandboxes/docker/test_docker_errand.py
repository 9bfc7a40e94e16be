"""Containers that live for a moment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.networks import BASE, docker
from support.owners import told_directory

from control_tower.sandboxes.docker.engine import engine, owner_value
from control_tower.sandboxes.docker.errand import ErrandFailed, ProgramMissing, run_errand
from control_tower.sandboxes.leftovers import remove_leftovers
from control_tower.sandboxes.owners import own_directory

pytestmark = [pytest.mark.docker, pytest.mark.slow]

RUNS = """
import sys
from control_tower.sandboxes.docker.engine import engine, owner_value
from control_tower.sandboxes.docker.errand import run_errand
from control_tower.sandboxes.docker.marker import mark
from control_tower.sandboxes.owners import own_directory
own = own_directory()
mark(own)
print(own, flush=True)
with engine() as client:
    run_errand(client, sys.argv[1], "sleep", "600", owner=owner_value(own))
"""

Run = Callable[..., str]


def errands_of(owner: Path) -> list[str]:
    """Names of an owner's containers."""
    mine = ("--filter", f"label=control-tower.owner={owner_value(owner)}")
    return docker("ps", "-a", *mine, "--format", "{{.Names}} {{.State}}").splitlines()


@pytest.fixture
def run() -> Run:
    """Runs an errand of this process; nothing of it is left, however it ends."""

    def run(*command: str) -> str:
        try:
            with engine() as client:
                return run_errand(client, BASE, *command, owner=owner_value(own_directory()))
        finally:
            assert errands_of(own_directory()) == []

    return run


def test_what_it_prints_is_told(run: Run) -> None:
    assert run("sh", "-c", "echo out; echo err >&2") == "out\n"


def test_a_failure_is_told_with_what_it_wrote_in_one_line(run: Run) -> None:
    with pytest.raises(ErrandFailed, match=r"^no way$") as caught:
        run("sh", "-c", "echo out; echo no >&2; echo way >&2; exit 3")
    assert caught.value.exit_code == 3


def test_a_failure_that_says_nothing_is_its_exit_code(run: Run) -> None:
    with pytest.raises(ErrandFailed, match=r"^exit code 4$"):
        run("sh", "-c", "exit 4")


@pytest.mark.parametrize("program", ["no-such-program", "/no/such/program"])
def test_an_image_without_the_program_is_a_failure_of_its_own(run: Run, program: str) -> None:
    with pytest.raises(ProgramMissing, match=f"^image {BASE} has no program {program}$"):
        run(program)


def test_one_that_is_killed_is_cleaned_up_by_the_next_run() -> None:
    command = [sys.executable, "-c", RUNS, BASE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        directory = told_directory(process)
        try:
            while not any(line.endswith(" running") for line in errands_of(directory)):
                assert process.poll() is None
            assert remove_leftovers() == [], "it lives"
        finally:
            process.kill()
    container, left = remove_leftovers()
    assert container.startswith("container ")
    assert left.startswith(f"directory {directory} ")
    assert errands_of(directory) == []
