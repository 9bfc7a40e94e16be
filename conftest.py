"""This repository's own test set-up; the fixtures are in `tests/conftest.py`."""

# The environments' code bases bring test suites of their own, for the agents that work on them.
collect_ignore_glob = [
    "control_tower/environments/library/*",
    "control_tower/environments/skeleton/*",
]
