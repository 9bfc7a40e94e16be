from pathlib import Path

from control_tower.scoring import check_script
from control_tower.scoring.preludes import BEHAVIOUR

score = check_script(Path(__file__).with_name("check.py"), prelude=BEHAVIOUR)
