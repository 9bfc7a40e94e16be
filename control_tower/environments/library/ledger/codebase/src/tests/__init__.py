"""The test suite: `python3 -m unittest`."""
