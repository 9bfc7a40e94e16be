"""Runs check.py in the sandbox, behind the environment's shared prelude."""

from pathlib import Path

from control_tower.scoring import check_script

_HERE = Path(__file__).parent

score = check_script(
    _HERE / "check.py", prelude=_HERE.parents[1] / "checks" / "prelude.py", timeout=240
)
