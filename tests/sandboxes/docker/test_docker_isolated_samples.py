"""`--sandbox-isolation` in samples: what runs isolated, and what does not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import pytest
from inspect_ai.util import SandboxEnvironment, SandboxUserUnsupportedError
from support.containers import containers_of
from support.environments import DOCKERFILE, write_compose

from control_tower.environments.loading import load_environment
from control_tower.environments.model import Environment
from control_tower.sandboxes.checking import exec_check
from control_tower.sandboxes.docker.bubblewrap_files import HOST_BINARY
from control_tower.sandboxes.docker.environment import docker_config
from control_tower.sandboxes.docker.provider import DockerSandbox
from control_tower.sandboxes.errors import SandboxStartError
from control_tower.sandboxes.isolation import agents_own, isolated
from control_tower.sandboxes.settings import SandboxSettings

pytestmark = [pytest.mark.docker, pytest.mark.slow]

Check = Callable[[DockerSandbox], Awaitable[None]]


@pytest.fixture
def in_isolation(environment: Environment) -> Callable[..., None]:
    """Runs a check in a sample; nothing of it is left."""

    @asynccontextmanager
    async def opened(of: Environment) -> AsyncIterator[DockerSandbox]:
        config = docker_config(of, SandboxSettings(isolation=True))
        environments = await DockerSandbox.sample_init("task", config, {})
        try:
            yield environments["default"].as_type(DockerSandbox)
        finally:
            await DockerSandbox.sample_cleanup("task", config, environments, False)

    def run(check: Check, of: Environment = environment) -> None:
        async def main() -> None:
            async with opened(of) as box:
                await check(box)

        anyio.run(main)
        assert containers_of("tiny") == []

    return run


def test_the_agent_s_commands_and_files_are_isolated_and_others_are_not(in_isolation) -> None:
    async def check(box: DockerSandbox) -> None:
        write = ["sh", "-c", "echo x >$HOME/file && echo written"]
        assert (await box.exec(write)).stdout == "written\n"
        await box.write_file("/home/agent/setup", "by set-up")
        checked = await exec_check(
            box, ["sh", "-c", "echo x >/home/agent/check"], input="", timeout=60
        )
        assert checked.success
        with agents_own():
            assert "Read-only" in (await box.exec(write)).stderr
            with pytest.raises(PermissionError):
                await box.write_file("/home/agent/editor", "by the agent")
            assert await box.read_file("/home/agent/setup") == "by set-up"
            await box.write_file("new/file.txt", "text")
            assert await box.read_file("new/file.txt") == "text"
        assert await box.read_file("new/file.txt") == "text"
        home = await box.exec(["ls", "/home/agent"])
        assert home.stdout.split() == ["check", "file", "setup"]

    in_isolation(check)


def test_the_agent_s_own_user_is_confined_by_whatever_name(in_isolation) -> None:
    async def check(box: DockerSandbox) -> None:
        number = (await box.exec(["id", "-u"])).stdout.strip()
        for name in ("agent", number):
            with agents_own():
                done = await box.exec(["sh", "-c", "id -un; touch $HOME/file"], user=name)
            assert done.stdout == "agent\n"
            assert "Read-only" in done.stderr
            assert (await box.exec(["sh", "-c", "touch $HOME/file"], user=name)).success

    in_isolation(check)


@pytest.mark.parametrize("name", ["root", "0", "nobody", "agent:root"])
def test_another_user_is_refused_to_the_agent_and_to_nobody_else(in_isolation, name: str) -> None:
    async def check(box: DockerSandbox) -> None:
        with agents_own(), pytest.raises(SandboxUserUnsupportedError) as caught:
            await box.exec(["touch", "/tmp/file"], user=name)
        assert f"is to run as '{name}', and isolation confines only" in str(caught.value)
        assert (await box.exec(["test", "!", "-e", "/tmp/file"])).success
        assert (await box.exec(["true"], user=name)).success

    in_isolation(check)


def test_an_agent_that_is_root_may_say_so(in_isolation, environment: Environment) -> None:
    settings = environment.directory / "environment.yaml"
    settings.write_text(f"{settings.read_text()}agent_user: root\n")
    write_compose(environment.directory, dockerfile=DOCKERFILE.replace("agent:agent", "root:root"))
    as_root = load_environment(environment.directory)

    async def check(box: DockerSandbox) -> None:
        for name in (None, "root", "0"):
            with agents_own():
                done = await box.exec(["sh", "-c", "id -u; touch /opt/file"], user=name)
            assert done.stdout == "0\n"
            assert "Read-only" in done.stderr
        with agents_own(), pytest.raises(SandboxUserUnsupportedError):
            await box.exec(["true"], user="agent")

    in_isolation(check, as_root)


def test_a_program_of_the_agent_s_does_not_take_the_place_of_one_that_confines_it(
    in_isolation,
) -> None:
    plant = """
mkdir -p bin
for name in setpriv bwrap sh cat head mkdir; do
    printf '#!/bin/sh\\ntouch $HOME/out\\nexit 3\\n' >bin/$name
done
chmod +x bin/*
"""

    async def check(box: DockerSandbox) -> None:
        with agents_own():
            await box.exec(["/bin/sh", "-c", plant])
            await box.exec(["/bin/true"])
            await box.write_file("file.txt", "text")
            assert await box.read_file("file.txt") == "text"
        assert (await box.exec(["test", "-x", "/app/bin/setpriv"])).success
        assert (await box.exec(["/bin/ls", "-A", "/home/agent/out"])).returncode == 2

    in_isolation(check)


def test_errors_of_commands_are_those_of_an_ordinary_sample(in_isolation) -> None:
    async def check(box: DockerSandbox) -> None:
        with agents_own():
            assert (await box.exec(["nosuch"])).returncode == 127
            with pytest.raises(PermissionError):
                await box.exec(["/etc/passwd"])
            for missing in ("/none", "/app/none"):
                with pytest.raises(FileNotFoundError):
                    await box.read_file(missing)
            with pytest.raises(IsADirectoryError):
                await box.write_file("/app", "text")
            said = await box.exec(
                ["sh", "-c", "cat; echo $NAME; pwd"], input="in\n", env={"NAME": "v"}
            )
            assert said.stdout.split() == ["in", "v", "/app"]

    in_isolation(check)


def test_at_a_timeout_nothing_of_the_command_is_left(in_isolation) -> None:
    async def check(box: DockerSandbox) -> None:
        slow = "(sleep 4713 &) ; trap '' TERM; echo begun; sleep 4713"
        with agents_own(), pytest.raises(TimeoutError) as caught:
            await box.exec(["sh", "-c", slow], timeout=2)
        assert "begun" in str(getattr(caught.value, "truncated_output", ""))
        left = await box.exec(["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"], user="root")
        assert "sleep 4713" not in left.stdout

    in_isolation(check)


def test_a_whole_agent_can_be_run_isolated(in_isolation) -> None:
    async def check(box: DockerSandbox) -> None:
        proxied: SandboxEnvironment = box
        command = isolated(proxied, ["sh", "-c", "touch $HOME/agent || touch mine"])
        assert (await box.exec(command)).success
        assert (await box.exec(["ls", "-A", "/home/agent"])).stdout.find("agent") < 0
        assert (await box.exec(["test", "-e", "/app/mine"])).success

    in_isolation(check)


def test_what_a_check_runs_as_the_agent_is_isolated(in_isolation) -> None:
    program = """
import os, shlex, subprocess
def run(script):
    command = [*shlex.split(os.environ["CT_AS_AGENT"]), "sh", "-c", script]
    return subprocess.run(command, capture_output=True, text=True)
print(run("id -un; pwd; kill $(cat pid) && echo ended").stdout.split())
print(run("touch /home/agent/file").stderr.strip())
"""

    async def check(box: DockerSandbox) -> None:
        with agents_own():
            serve = "setsid nohup sleep 4715 >/dev/null 2>&1 & echo $! >pid"
            assert (await box.exec(["sh", "-c", serve])).success
        done = await exec_check(box, ["python3", "-I", "-"], input=program, timeout=60)
        first, second = done.stdout.splitlines()
        assert first == "['agent', '/app', 'ended']", done.stderr
        assert second.endswith("Read-only file system")

    in_isolation(check)


def test_without_the_option_nothing_is_isolated(opened) -> None:
    async def check() -> None:
        async with opened() as box:
            with agents_own():
                assert (await box.exec(["touch", "/home/agent/file"])).success
            assert isolated(box, ["true"]) == ["true"]

    anyio.run(check)


def test_a_bwrap_that_is_none_is_an_error_at_the_start_and_leaves_nothing(
    in_isolation, monkeypatch
) -> None:
    monkeypatch.setenv(HOST_BINARY, "/bin/true")

    async def never(box: DockerSandbox) -> None:
        raise AssertionError("it came up")

    with pytest.raises(SandboxStartError, match="isolation cannot be set up"):
        in_isolation(never)
    assert containers_of("tiny") == []
