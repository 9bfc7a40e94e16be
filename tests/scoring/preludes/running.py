"""Runs a check behind preludes, as `check_script` gives it to Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from control_tower.scoring.checks import python_program
from control_tower.scoring.preludes import BEHAVIOUR, ENCODINGS


def run_check(folder: Path, check: str, **environment: str) -> str:
    """What a check prints, run in a folder; it has to exit with 0."""
    preludes = [(path.name, path.read_text(encoding="utf-8")) for path in (BEHAVIOUR, ENCODINGS)]
    done = subprocess.run(
        [sys.executable, "-I", "-"],
        input=python_program([*preludes, ("check.py", dedent(check))]),
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


def verdict(folder: Path, body: str, **environment: str) -> str:
    """The line of a check whose function has this body."""
    lines = "\n".join(f"    {line}" for line in dedent(body).strip().split("\n"))
    return run_check(folder, f"def check():\n{lines}\n\ndecide(check)\n", **environment).rstrip()
