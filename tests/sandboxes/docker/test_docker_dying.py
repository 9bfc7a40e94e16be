"""Programs that end with the process that started them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from control_tower.sandboxes.docker.dying import dying_with_parent

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone can do it")

ENDS = """
import os, signal, sys

def end(*_):
    os.write(sys.stdout.fileno(), b"ended\\n")  # it may come in the midst of a print
    os._exit(0)

signal.signal(signal.SIGTERM, end)
print("runs", flush=True)
while True:
    signal.pause()
"""
STARTS = f"""
import subprocess, sys
from control_tower.sandboxes.docker.dying import dying_with_parent

subprocess.run(dying_with_parent([sys.executable, "-c", {ENDS!r}]))
"""
BUILDS = """
import sys
from pathlib import Path
from control_tower.sandboxes.docker import images

images._missing = lambda names: list(names)
model = {"services": {"default": {"build": {"context": "/nowhere"}}}}
images.ensure_images(model, {"default": "an-image"}, Path(sys.argv[1]), lambda: False)
"""


def test_it_is_told_to_end_when_its_parent_is_killed() -> None:
    command = [sys.executable, "-c", STARTS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "runs\n"
        process.kill()
        assert process.stdout.read() == "ended\n"


def test_one_whose_parent_died_before_it_began_does_not_begin(tmp_path: Path) -> None:
    made = tmp_path / "made"
    command = dying_with_parent(["touch", str(made)])
    command[command.index(str(os.getpid()))] = "1"
    assert subprocess.run(command, check=False).returncode == 1
    assert not made.exists()


def test_else_it_is_what_it_would_be() -> None:
    done = subprocess.run(
        dying_with_parent(["sh", "-c", 'echo "$0 $1"; exit 3', "a b", "c"]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "a b c\n", "")


def test_a_build_ends_with_the_run_that_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What Docker says is kept in a file that goes with the run, so the program has another way.
    says = tmp_path / "says"
    os.mkfifo(says)
    program = tmp_path / "docker"
    there = f"import sys\nsys.stdout = open({str(says)!r}, 'w')"
    program.write_text(f"#!{sys.executable}\n{there}\n{ENDS}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("CT_STATE_DIR", str(tmp_path / "state"))
    command = [sys.executable, "-c", BUILDS, str(tmp_path / "build.json")]
    with subprocess.Popen(command) as process, says.open() as said:
        assert said.readline() == "runs\n"
        process.kill()
        assert said.read() == "ended\n"
