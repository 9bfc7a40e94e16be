"""Fixtures shared by the tests."""

from __future__ import annotations

import importlib

import pytest
from support.sessions import ControlPytester


@pytest.fixture(scope="session", autouse=True)
def inspect_loaded() -> None:
    """Import what is needed once: pytester forgets modules that its own runs import.

    And a test that becomes another user might not be allowed to read them.
    """
    for module in (
        "docker.errors",
        "numpy",
        "inspect_ai.hooks",
        "inspect_ai.log",
        "control_tower.episode.task",
        "control_tower.runners.local",
        "control_tower.sandboxes.bwrap.leftovers",
        "control_tower.sandboxes.bwrap.preflight",
        "control_tower.sandboxes.bwrap.provider",
        "pytest_control_tower.session",
    ):
        importlib.import_module(module)


@pytest.fixture
def control(
    inspect_loaded: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> ControlPytester:
    """pytester for control sessions, with an empty place for environments."""
    return ControlPytester(pytester, monkeypatch)
