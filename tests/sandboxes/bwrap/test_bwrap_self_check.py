"""Inspect's own conformance checks for sandbox providers, as a table."""

from __future__ import annotations

import pytest
from inspect_ai.util import SandboxUserUnsupportedError
from support.self_checks import CHECKS, run_self_checks

from control_tower.sandboxes.bwrap.config import BwrapConfig
from control_tower.sandboxes.bwrap.provider import BwrapSandbox

EXCEPTIONS = {
    "test_exec_as_user": "makes a second user as root; a bwrap sandbox has one user, not root",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CT_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        config = BwrapConfig(source=str(tmp_path_factory.mktemp("code")))
        return run_self_checks(BwrapSandbox, config)


def test_there_are_checks():
    assert len(CHECKS) > 30


@pytest.mark.parametrize("name", [name for name in CHECKS if name not in EXCEPTIONS])
def test_passes(name, results):
    if results[name] is not None:
        raise results[name]


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_justified_exceptions(name, results):
    assert isinstance(results[name], SandboxUserUnsupportedError)
