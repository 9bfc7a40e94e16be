"""Scoring: what authors of `scorer.py` files use, and the wrapper that runs them.

A `scorer.py` defines `async def score(state, target) -> Score`, or makes one with
`score = check_script(...)`, behind one of the `preludes` if its checks are in Python.
"""

from control_tower.scoring.checks import check_script

__all__ = ["check_script"]
