"""Samples in real containers."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from inspect_ai.util import SandboxUnavailableError
from support.containers import containers_of
from support.environments import write_compose

from control_tower.environments.model import Environment
from control_tower.sandboxes.checking import exec_check
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.environment import docker_config
from control_tower.sandboxes.docker.provider import DockerSandbox
from control_tower.sandboxes.errors import SandboxStartError
from control_tower.sandboxes.leftovers import remove_leftovers

pytestmark = [pytest.mark.docker, pytest.mark.slow]

SEAL = "install -d -m 700 /sealed && cp /secret /sealed/"
"""Puts a file into a folder that only root can look into."""


def test_commands_run_as_the_agent_in_the_workspace_without_a_network(opened) -> None:
    async def check() -> None:
        async with opened() as box:
            done = await box.exec(["sh", "-c", "id -un; pwd; ls /sys/class/net"])
            assert done.stdout.split() == ["agent", "/app", "lo"]
            await box.write_file("new/file.txt", "text")
            assert await box.read_file("new/file.txt") == "text"
            owner = await box.exec(["stat", "-c", "%U", "new/file.txt"])
            assert owner.stdout == "agent\n"

    anyio.run(check)


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


def test_a_check_runs_as_root_and_what_the_agent_may_alter_as_the_agent(opened) -> None:
    script = "id -un; pwd; cat /secret; $CT_AS_AGENT id -un; $CT_AS_AGENT sh -c 'echo $HOME'"

    async def check() -> None:
        async with opened() as box:
            done = await exec_check(box, ["sh", "-s"], input=script, timeout=60)
            assert done.stdout.split() == ["root", "/app", "hidden", "agent", "/home/agent"]

    anyio.run(check)


def test_an_agent_that_ends_its_container_has_failed_and_not_escaped(opened) -> None:
    end = "kill -9 -1; kill -9 1; pkill -9 sleep; true"

    async def check() -> None:
        async with opened() as box:
            await box.exec(["sh", "-c", end])
            done = await exec_check(box, ["echo", "CORRECT: still there"], input="", timeout=60)
            assert done.stdout == "CORRECT: still there\n"
            with suppress(SandboxUnavailableError):
                await box.exec(["sh", "-c", end], user="root")
            done = await exec_check(box, ["echo", "CORRECT: x"], input="", timeout=60)
            assert not done.success
            assert done.stdout == ""

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


def test_the_image_is_built_once_and_named_after_its_files(
    environment: Environment, config: DockerConfig
) -> None:
    again = docker_config(environment)
    assert again == config
    (environment.directory / "codebase" / "src" / "more.txt").write_text("x")
    before = Path(config.compose_file).read_text()
    docker_config(environment)
    assert Path(config.compose_file).read_text() != before


def test_a_build_that_fails_is_said_at_the_sample_s_start(environment: Environment) -> None:
    broken = "ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nRUN echo these are the last words; exit 3\n"
    write_compose(environment.directory, dockerfile=broken)
    config = docker_config(environment)

    async def check() -> None:
        with pytest.raises(SandboxStartError, match="these are the last words"):
            await DockerSandbox.sample_init("task", config, {})

    anyio.run(check)


def test_an_image_that_cannot_be_pulled_is_said_in_the_same_way(environment: Environment) -> None:
    write_compose(environment.directory, more="  db: {image: 'registry.invalid/db:1'}\n")
    assert "registry.invalid" in (docker_config(environment).problem or "")


def test_a_living_run_s_sandboxes_are_no_leftovers(opened) -> None:
    async def check() -> None:
        async with opened() as box:
            running = containers_of("tiny")
            assert len(running) == 1
            remove_leftovers()
            assert containers_of("tiny") == running
            assert (await box.exec(["true"])).success

    anyio.run(check)


def test_a_command_line_with_odd_words_arrives_whole(opened) -> None:
    words = ["a b", "$(id)", "it's", '"', "", "\\", "é"]

    async def check() -> None:
        async with opened() as box:
            done = await box.exec(["printf", "%s\\n", *words])
            assert done.stdout.split("\n")[:-1] == words, shlex.join(words)

    anyio.run(check)
