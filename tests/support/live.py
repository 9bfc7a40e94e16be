"""Live sessions for tests."""

from __future__ import annotations

from typing import Any

import pytest

from control_tower.errors import UsageProblem
from control_tower.live.session import Session


def session(name: str = "one", **more: Any) -> Session:
    """A session of an environment that is nowhere."""
    return Session(name=name, environment="shop", directory="/e", log_dir="/logs", **more)


def refusal(of: Any, *args: Any) -> str:
    """The one line with which it is refused."""
    with pytest.raises(UsageProblem) as caught:
        of(*args)
    assert "\n" not in str(caught.value)
    return str(caught.value)
