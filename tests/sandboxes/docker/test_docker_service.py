"""Commands and files of services, in real containers."""

from __future__ import annotations

import anyio
import pytest
from support.containers import things_of
from support.environments import write_compose

from control_tower.environments.model import Environment
from control_tower.sandboxes.checking import exec_check
from control_tower.sandboxes.docker.environment import docker_config
from control_tower.sandboxes.docker.provider import DockerSandbox

pytestmark = [pytest.mark.docker, pytest.mark.slow]

SEAL = "install -d -m 700 /sealed && cp /secret /sealed/"
"""Puts a file into a folder that only root can look into."""


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/secret", PermissionError),
        ("/sealed/secret", PermissionError),  # in a folder that the agent cannot look into
        ("link", PermissionError),
        ("pipe", PermissionError),
        ("/none", FileNotFoundError),
        ("/etc", IsADirectoryError),
    ],
)
def test_only_what_the_agent_may_read_is_read(opened, path: str, error: type[OSError]) -> None:
    async def check() -> None:
        async with opened() as box:
            await box.exec(["sh", "-c", SEAL], user="root")
            await box.exec(["sh", "-c", "ln -s /sealed/secret link; mkfifo pipe"])
            with pytest.raises(error):
                await box.read_file(path)

    anyio.run(check)


@pytest.mark.parametrize("path", ["/etc/passwd", "pipe", "/app"])
def test_only_what_the_agent_may_write_is_written(opened, path: str) -> None:
    async def check() -> None:
        async with opened() as box:
            await box.exec(["mkfifo", "pipe"])
            with pytest.raises((PermissionError, IsADirectoryError)):
                await box.write_file(path, "x")

    anyio.run(check)


@pytest.mark.parametrize("size", [0, 1, 6 * 2**20, 13 * 2**20 + 7])
def test_what_is_written_is_read_back_whole(opened, size: int) -> None:
    contents = bytes(range(256)) * (size // 256) + bytes(size % 256)

    async def check() -> None:
        async with opened() as box:
            await box.write_file("data.bin", contents)
            assert await box.read_file("data.bin", text=False) == contents

    anyio.run(check)


def test_the_agent_s_programs_are_not_taken_for_the_system_s(opened) -> None:
    fake = "mkdir -p /app/bin; for n in id setpriv base64 head; do printf '#!/bin/sh\\necho no' >/app/bin/$n; done; chmod +x /app/bin/*"

    async def check() -> None:
        async with opened() as box:
            await box.exec(["sh", "-c", fake])
            await box.write_file("file.txt", "text")
            assert await box.read_file("file.txt") == "text"
            done = await exec_check(box, ["sh", "-c", "$CT_AS_AGENT id -un"], input="", timeout=60)
            assert done.stdout == "agent\n"

    anyio.run(check)


def test_another_service_is_its_container_s_own_user_in_its_own_folder(
    environment: Environment,
) -> None:
    more = "  other: {image: '${CT_BASE_IMAGE}', command: sleep infinity, user: '7', working_dir: /srv}\n"
    write_compose(environment.directory, more=more)
    config = docker_config(environment)

    async def check() -> None:
        boxes = await DockerSandbox.sample_init("task", config, {})
        try:
            assert list(boxes) == ["default", "other"]
            done = await boxes["other"].exec(["sh", "-c", "id -u; pwd"])
            assert done.stdout.split() == ["7", "/srv"]
            await boxes["other"].exec(["sh", "-c", "echo hi >note"], user="root")
            assert await boxes["other"].read_file("note") == "hi\n"
        finally:
            await DockerSandbox.sample_cleanup("task", config, boxes, False)
        assert things_of("tiny") == []

    anyio.run(check)
