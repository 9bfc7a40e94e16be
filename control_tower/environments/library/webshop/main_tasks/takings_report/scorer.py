"""Runs check.py in the sandbox, behind the environment's shared prelude."""

from pathlib import Path

from control_tower.scoring import check_script

_HERE = Path(__file__).parent
_PRELUDE = _HERE.parents[1] / "checks" / "prelude.py"

# A check takes some seconds; on a machine that is busy with many samples, a minute or two.
score = check_script(_HERE / "check.py", prelude=_PRELUDE, timeout=240)
