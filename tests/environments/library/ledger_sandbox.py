"""Runs steps in a throw-away copy of the ledger, in network and process namespaces of its own.

This file is both sides. `run_case` copies the code base and starts this very file under `unshare`,
with the steps on standard input; there, `main` brings loopback up, runs the steps, and prints what
they came to. All that a case has started dies with its process namespace.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[3]
LEDGER = REPOSITORY / "control_tower" / "environments" / "library" / "ledger"
PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else "python3"
UNSHARE = ["unshare", "--net", "--map-root-user", "--pid", "--fork", "--kill-child"]
STEP_SECONDS = 90
CASE_SECONDS = 300


@dataclass(frozen=True)
class Step:
    """One command of a case, and what it came to."""

    name: str
    code: int
    output: str
    """Standard output."""
    errors: str
    """Standard error."""

    @property
    def verdict(self) -> str:
        """`CORRECT` or `INCORRECT`, of a check."""
        assert "Traceback" not in self.errors + self.output, self.errors
        lines = self.output.strip().splitlines()
        assert len(lines) == 1, f"{self.name}: expected one verdict line, saw {lines}{self.errors}"
        assert len(lines[0]) < 300
        return lines[0].partition(":")[0]

    @property
    def explanation(self) -> str:
        """What the check's verdict says."""
        return self.output.strip().partition(": ")[2]


def bash(command: str, name: str = "bash", must: bool = True) -> dict[str, Any]:
    """A step that runs a command as the bash tool does; with `must`, a failure ends the case."""
    return {"name": name, "argv": ["bash", "-c", command], "stdin": "", "must": must}


def check(task: str, **limits: float) -> dict[str, Any]:
    """A step that runs the check of `main_tasks/…` or `side_tasks/…`, as its scorer does.

    `limits` replaces constants of the preludes (`CHECK_SECONDS=2`), so that a hang is soon over.
    """
    # This file is also a program, run by a Python that has no such package.
    from control_tower.scoring.checks import python_program
    from control_tower.scoring.preludes import BEHAVIOUR, ENCODINGS

    own = (LEDGER / "checks" / "prelude.py", LEDGER / task / "check.py")
    texts = {path.name: path.read_text(encoding="utf-8") for path in (BEHAVIOUR, ENCODINGS, *own)}
    for constant, seconds in limits.items():
        replaced = {
            name: re.subn(rf"(?m)^{constant} = .*$", f"{constant} = {seconds}", text)
            for name, text in texts.items()
        }
        assert any(count for _, count in replaced.values()), f"no constant {constant}"
        texts = {name: text for name, (text, _) in replaced.items()}
    source = python_program(texts.items())
    return {"name": f"check {task}", "argv": [PYTHON, "-I", "-"], "stdin": source, "must": False}


def scripts(folder: str) -> list[dict[str, Any]]:
    """Steps for the scripts of a `solution/` or `attack/` folder, in name order."""
    found = sorted((LEDGER / folder).glob("*.sh"))
    assert found, f"no scripts in {folder}"
    return [bash(path.read_text(encoding="utf-8"), f"{folder}/{path.name}") for path in found]


def provision(*tasks: str) -> list[dict[str, Any]]:
    """Steps that set a workspace up: files and setup.sh of the tasks, then the service."""
    steps = []
    for task in tasks:
        if (LEDGER / task / "files").is_dir():
            steps.append(bash(f"cp -R '{LEDGER / task / 'files'}/.' ."))
        if (LEDGER / task / "setup.sh").is_file():
            setup = (LEDGER / task / "setup.sh").read_text(encoding="utf-8")
            steps.append(bash(setup, f"{task}/setup.sh"))
    start = bash("sh restart.sh && python3 -m ledger.admin health", "service start")
    return [start, *steps]


def run_case(folder: Path, steps: list[dict[str, Any]], *, own_proc: bool = True) -> list[Step]:
    """Run steps one after another in a fresh workspace below `folder`; returns one result each.

    Without `own_proc`, /proc stays the host's, as it does in some containers.
    """
    workspace = folder / "app"
    ignored = shutil.ignore_patterns("var", "__pycache__")
    shutil.copytree(LEDGER / "codebase" / "src", workspace, ignore=ignored)
    mounts = ["--mount-proc"] if own_proc else []
    ended = subprocess.run(
        [*UNSHARE, *mounts, PYTHON, "-I", __file__, str(workspace)],
        input=json.dumps(steps),
        capture_output=True,
        text=True,
        timeout=CASE_SECONDS,
        check=False,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(folder)},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    results = [Step(**result) for result in json.loads(ended.stdout)]
    last = results[-1]
    complete = len(results) == len(steps)
    assert complete, f"{last.name} exited {last.code}: {last.output[-800:]}{last.errors[-1200:]}"
    return results


def unavailable() -> str | None:
    """Why cases cannot run on this machine, or None."""
    if shutil.which("unshare") is None:
        return "unshare is missing"
    tried = subprocess.run(
        [*UNSHARE, "--mount-proc", "true"], capture_output=True, text=True, check=False
    )
    return tried.stderr.strip() or "unshare fails" if tried.returncode else None


def main(workspace: str) -> None:
    """The inner side: reap as process 1, and run the steps in a child."""
    steps = json.load(sys.stdin)
    loopback_up()
    worker = os.fork()
    if worker == 0:
        sys.stdout.write(json.dumps(run_steps(steps, workspace)))
        sys.stdout.flush()
        os._exit(0)
    while True:
        pid, status = os.wait()
        if pid == worker:
            os._exit(os.waitstatus_to_exitcode(status))


def run_steps(steps: list[dict[str, Any]], workspace: str) -> list[dict[str, Any]]:
    """Run the steps until one fails that must not."""
    results = []
    for step in steps:
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            ended = subprocess.run(
                step["argv"],
                input=step["stdin"],
                stdout=out,
                stderr=err,
                text=True,
                cwd=workspace,
                timeout=STEP_SECONDS,
                check=False,
            )
            out.seek(0)
            err.seek(0)
            result = {"name": step["name"], "code": ended.returncode}
            results.append({**result, "output": out.read(), "errors": err.read()})
        if step["must"] and ended.returncode != 0:
            break
    return results


def loopback_up() -> None:
    """Bring `lo` up: SIOCGIFFLAGS, set IFF_UP, SIOCSIFFLAGS."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        name, flags = struct.unpack("16sh14x", fcntl.ioctl(control, 0x8913, request))
        fcntl.ioctl(control, 0x8914, struct.pack("16sh14x", name, flags | 1))


if __name__ == "__main__":
    main(sys.argv[1])
