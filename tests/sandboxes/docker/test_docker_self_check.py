"""Inspect's own conformance checks for sandbox providers, as a table: all pass."""

from __future__ import annotations

import pytest
from support.environments import EnvironmentFiles
from support.self_checks import CHECKS, run_self_checks

from control_tower.environments.loading import load_environment
from control_tower.sandboxes.docker.environment import docker_config
from control_tower.sandboxes.docker.provider import DockerSandbox

pytestmark = [pytest.mark.docker, pytest.mark.slow]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CT_STATE_DIR", str(folder / "state"))
        environment = load_environment(EnvironmentFiles(name="checked").write(folder))
        return run_self_checks(DockerSandbox, docker_config(environment))


def test_there_are_checks():
    assert len(CHECKS) > 30


@pytest.mark.parametrize("name", CHECKS)
def test_passes(name, results):
    if results[name] is not None:
        raise results[name]
