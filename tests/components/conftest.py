"""Components outside the package, for tests of the registry."""

from __future__ import annotations

from pathlib import Path

import pytest

OUTSIDE = '''
from typing import Annotated, Any, Literal

from pydantic import Field

from control_tower.components import MonitorSpec, monitor, policy, protocol
from control_tower.contracts import BlueProtocol, Monitor, Policy


class Watcher(Monitor):
    def __init__(self, **settings):
        self.settings = settings

    async def score(self, case):
        raise NotImplementedError


@monitor()
def watcher(
    model: str | None = None,
    role: str = "monitor",
    draws: int = 1,
    title: str = "none",
    labels: list[str] | None = None,
) -> Monitor:
    """Watch.

    Args:
        model: name of the model.
        role: whom it asks.
        draws: how often,
            in a row.
        title: what it is called.
        labels: what it knows.
    """
    if draws < 1:
        raise ValueError("at least one draw is needed")
    return Watcher(model=model, role=role, draws=draws, title=title, labels=labels)


@monitor(roles=[])
def several(members: list[MonitorSpec]) -> Monitor:
    """Watch together."""
    return Watcher(members=[member.create() for member in members])


@monitor(roles=["left", "right"])
def pair(model: str | None = "a/default", role: str | None = None) -> Monitor:
    """Watch in two roles."""
    return Watcher(model=model, role=role)


class Guard(BlueProtocol):
    def __init__(self, *settings):
        self.settings = settings

    async def generate(self, turn, untrusted):
        raise NotImplementedError


@protocol(roles=["trusted"])
def guard(
    monitor: MonitorSpec = MonitorSpec(__name__ + ":watcher"),
    second: MonitorSpec | None = None,
    others: list[MonitorSpec] | None = None,
    by_name: dict[str, MonitorSpec] | None = None,
    model: str | None = None,
) -> BlueProtocol:
    """Guard."""
    return Guard(monitor, second, others, by_name)


@protocol()
def typo(monitor: MonitorSpec = MonitorSpec(__name__ + ":watcher", drwas=2)) -> BlueProtocol:
    """Guard with a default that is wrong."""
    return Guard(monitor)


class Silent(Policy):
    def __init__(self, **settings):
        self.settings = settings

    async def generate(self, turn):
        raise NotImplementedError


@policy(modes=["honest"], asserts="none")
def typed(
    text: str = "",
    maybe: str | None = None,
    choice: Literal["on", "off"] = "on",
    whole: int = 0,
    number: float | None = None,
    truth: bool = False,
    texts: list[str] | None = None,
    counts: dict[str, int] | None = None,
    nested: list[list[int]] | None = None,
    either: int | str = 0,
    bounded: Annotated[int, Field(ge=1, le=3)] = 1,
    anything: Any = None,
    schema: str = "",
    copy: tuple[int, str] | None = None,
) -> Policy:
    """Say nothing."""
    return Silent()
'''


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module outside the package that registers components."""
    name = f"outside_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name
