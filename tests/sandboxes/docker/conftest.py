"""Real containers for the tests, on the engine that the test command starts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from support.containers import containers_of
from support.environments import EnvironmentFiles

from control_tower.environments.loading import load_environment
from control_tower.environments.model import Environment
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.environment import docker_config
from control_tower.sandboxes.docker.provider import DockerSandbox

Open = Callable[[], AbstractAsyncContextManager[DockerSandbox]]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state directory."""
    path = tmp_path / "state"
    monkeypatch.setenv("CT_STATE_DIR", str(path))
    return path


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """A tiny environment with an image of its own."""
    return load_environment(EnvironmentFiles(name="tiny").write(tmp_path))


@pytest.fixture
def config(environment: Environment) -> DockerConfig:
    """What its samples' containers are made from; the image is built."""
    return docker_config(environment)


@pytest.fixture
def opened(config: DockerConfig) -> Iterator[Open]:
    """Opens sandboxes: `async with opened() as box`; none is left afterwards."""

    @asynccontextmanager
    async def open_one() -> AsyncIterator[DockerSandbox]:
        environments = await DockerSandbox.sample_init("task", config, {})
        try:
            yield environments["default"].as_type(DockerSandbox)
        finally:
            await DockerSandbox.sample_cleanup("task", config, environments, False)

    yield open_one
    assert containers_of("tiny") == []
