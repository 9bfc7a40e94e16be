"""What a sample's image needs, and how it is said that it lacks something."""

from __future__ import annotations

import anyio
import pytest
from support.containers import things_of
from support.environments import DOCKERFILE, write_compose

from control_tower.environments.model import Environment
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.environment import docker_config
from control_tower.sandboxes.docker.provider import DockerSandbox
from control_tower.sandboxes.errors import SandboxStartError
from control_tower.sandboxes.settings import SandboxSettings

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def why_not(config: DockerConfig) -> str:
    """What is said of a sample that does not start; nothing of it is left."""

    async def check() -> str:
        with pytest.raises(SandboxStartError) as caught:
            await DockerSandbox.sample_init("task", config, {})
        assert things_of("tiny") == []
        return str(caught.value)

    return anyio.run(check)


def without(environment: Environment, *programs: str, isolation: bool = False) -> DockerConfig:
    """The configuration of an image without these programs."""
    removal = f"RUN rm {' '.join(programs)}\n"
    write_compose(environment.directory, dockerfile=DOCKERFILE + removal)
    return docker_config(environment, SandboxSettings(isolation=isolation))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"agent_user": "nobody-there"}, "'nobody-there' and the workspace /app: id: "),
        ({"workspace": "/none"}, "the workspace /none: "),
    ],
)
def test_an_image_without_the_agent_s_user_or_workspace_is_said(
    config: DockerConfig, wrong: dict[str, str], said: str
) -> None:
    assert said in why_not(config.model_copy(update=wrong))


@pytest.mark.parametrize(
    ("programs", "isolation", "said"),
    [
        (("/bin/bash",), False, "has no bash; install bash in it"),
        (
            ("/bin/cat", "/usr/bin/head", "/usr/bin/id", "/bin/mkdir"),
            False,
            "has no cat, no head, no id, no mkdir; install coreutils in it",
        ),
        (("/usr/bin/setpriv",), False, "has no setpriv; install util-linux in it"),
        (
            ("/bin/chown", "/usr/bin/nsenter", "/usr/bin/setpriv", "/bin/readlink"),
            True,
            "has no chown, no nsenter, no readlink, no setpriv; install coreutils and util-linux "
            "in it",
        ),
    ],
)
def test_programs_that_are_missing_are_said_with_their_packages(
    environment: Environment, programs: tuple[str, ...], isolation: bool, said: str
) -> None:
    config = without(environment, *programs, isolation=isolation)
    assert why_not(config) == f"the image of service 'default' {said}"


def test_an_image_without_a_shell_is_said(environment: Environment) -> None:
    said = why_not(without(environment, "/bin/sh"))
    assert said.startswith("the image of service 'default' has no /bin/sh, which every sample ")
    assert "\n" not in said


def test_bash_is_looked_for_where_the_agent_would(environment: Environment) -> None:
    moved = "RUN mkdir -p /opt/shell && mv /bin/bash /opt/shell/\nENV PATH=/opt/shell:$PATH\n"
    write_compose(environment.directory, dockerfile=DOCKERFILE + moved)
    assert starts(docker_config(environment))


def test_what_only_other_samples_need_may_be_missing(environment: Environment) -> None:
    assert starts(without(environment, "/usr/bin/nsenter", "/usr/bin/readlink"))


def starts(config: DockerConfig) -> bool:
    """Whether a command runs in a sample; nothing of it is left."""

    async def check() -> bool:
        boxes = await DockerSandbox.sample_init("task", config, {})
        try:
            return (await boxes["default"].exec(["true"])).success
        finally:
            await DockerSandbox.sample_cleanup("task", config, boxes, False)

    return anyio.run(check)
