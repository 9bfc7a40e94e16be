from pathlib import Path

from control_tower.scoring import check_script

score = check_script(Path(__file__).with_name("check.py"))
