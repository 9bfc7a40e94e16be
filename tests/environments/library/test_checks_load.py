"""Every bundled check can be begun: its names are there once the preludes are read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from control_tower.environments.discovery import LIBRARY
from control_tower.scoring.checks import python_program
from control_tower.scoring.preludes import BEHAVIOUR, ENCODINGS

CHECKS = sorted(LIBRARY.glob("*/*_tasks/*/check.py"))
_ABSENT_HERE = """
import sys, types
for name in ("psycopg2", "psycopg2.extras", "redis"):
    sys.modules[name] = types.ModuleType(name)
"""
"""Packages of the images, which nothing needs before a check begins."""


@pytest.mark.parametrize("check", CHECKS, ids=lambda path: f"{path.parts[-4]}/{path.parts[-2]}")
def test_a_check_loads(check: Path) -> None:
    preludes = (BEHAVIOUR, ENCODINGS, check.parents[2] / "checks" / "prelude.py")
    texts = [(path.name, path.read_text(encoding="utf-8")) for path in (*preludes, check)]
    texts[-1] = ("check.py", texts[-1][1].replace("\ndecide(check)\n", "\nprint('loaded')\n"))
    done = subprocess.run(
        [sys.executable, "-I", "-"],
        input=_ABSENT_HERE + python_program(texts),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "loaded\n", "")
