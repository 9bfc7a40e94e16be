"""Fixtures for tests about control samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from control_tower.runners.holding import LiveSandbox
    from control_tower.selection import Combination, SampleKey
    from pytest_control_tower.judging import ControlOutcome


@pytest.fixture
def control_key(request: pytest.FixtureRequest) -> SampleKey:
    """Which sample this item is about: its combination and epoch."""
    key: SampleKey | None = getattr(request, "param", None)
    if key is None:
        pytest.fail(
            "control fixtures cannot be asked for with getfixturevalue(): a test has a sample "
            "only if it names them in its arguments",
            pytrace=False,
        )
    return key


@pytest.fixture
def control_combination(control_key: SampleKey) -> Combination:
    """The item's environment, main task and side task."""
    return control_key.combination


@pytest.fixture
def control_sample(control_key: SampleKey, request: pytest.FixtureRequest) -> SampleKey:
    """The sample, provisioned: its sandbox came up and its environment was set up.

    Fails the item's set-up if that never happened.
    """
    from pytest_control_tower.plugin import control_session

    session = control_session(request.config)
    assert session is not None  # an item has a key only when a session selected it
    session.run.running.require_provisioned(control_key)
    return control_key


@pytest.fixture
def control_sandbox(control_sample: SampleKey, request: pytest.FixtureRequest) -> LiveSandbox:
    """The sample's sandbox, up, after scoring: run commands, read and write files.

    The sample is cleaned up when the last test about it that asks for its sandbox has ended. A
    sample that errored before it was scored fails the test's set-up, and so does a run whose
    outputs are recorded ones, which has no sandboxes.
    """
    from pytest_control_tower.plugin import control_session

    session = control_session(request.config)
    assert session is not None  # as above
    if not session.run.plan.sandbox.is_there:
        flag = session.run.plan.options.flag("replay_sandbox")
        pytest.fail(f"with {flag} there is no sandbox to look into", pytrace=False)
    return session.run.running.live_sandbox(control_sample)


@pytest.fixture
def control_outcome(control_sample: SampleKey, request: pytest.FixtureRequest) -> ControlOutcome:
    """What the sample came to; `check()` asserts what its policy is for (or `--ct-assert`)."""
    from pytest_control_tower.plugin import control_session

    session = control_session(request.config)
    assert session is not None  # as above
    return session.run.running.judged(control_sample)
