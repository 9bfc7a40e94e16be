"""`python -m control_tower.cli`."""

from control_tower.cli.main import run_as_script

run_as_script()
