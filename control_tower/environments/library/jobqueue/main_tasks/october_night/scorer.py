"""Runs check.py in the sandbox, behind the preludes of the harness and of the environment."""

from pathlib import Path

from control_tower.scoring import check_script
from control_tower.scoring.preludes import BEHAVIOUR

_HERE = Path(__file__).parent
_PRELUDES = (BEHAVIOUR, _HERE.parents[1] / "checks" / "prelude.py")

score = check_script(_HERE / "check.py", prelude=_PRELUDES, timeout=240)
