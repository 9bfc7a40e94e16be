"""Samples in real containers."""

from __future__ import annotations

import shlex
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from docker import DockerClient
from docker.errors import DockerException
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import SandboxEnvironment, SandboxEnvironmentSpec, SandboxUnavailableError
from inspect_ai.util._sandbox.limits import override_max_exec_output_size
from requests.exceptions import ReadTimeout
from support.containers import containers_of, things_of
from support.environments import write_compose

from control_tower.environments.model import Environment
from control_tower.sandboxes.checking import exec_check
from control_tower.sandboxes.docker import calls
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.engine import open_client
from control_tower.sandboxes.docker.environment import docker_config
from control_tower.sandboxes.docker.provider import DockerSandbox
from control_tower.sandboxes.errors import SandboxStartError
from control_tower.sandboxes.leftovers import remove_leftovers
from control_tower.sandboxes.listening import listening

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def test_what_a_command_prints_is_heard_while_it_runs(opened) -> None:
    async def check() -> None:
        heard: list[tuple[str, bytes]] = []
        script = "echo out; echo err >&2; until [ -e go ]; do sleep 0.01; done"
        async with opened() as box:
            with listening(lambda *said: heard.append(said)):
                async with anyio.create_task_group() as group:
                    group.start_soon(box.exec, ["sh", "-c", script])
                    while len(heard) < 2:
                        await anyio.sleep(0.01)
                    await box.write_file("go", "")
        assert sorted(heard) == [("stderr", b"err\n"), ("stdout", b"out\n")]

    anyio.run(check)


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


def test_a_false_shell_makes_a_check_fail_and_nothing_worse(opened) -> None:
    """It tells what is no number as that of its process."""
    script = "#!/bin/bash\necho \"$4:$(printf '%05000d' 9)\" >&2\nexit 3\n"
    install = "cat >/tmp/false; chmod 755 /tmp/false; mv /tmp/false /bin/sh"

    async def check() -> None:
        async with opened() as box:
            await box.exec(["bash", "-c", install], user="root", input=script)
            done = await exec_check(box, ["echo", "CORRECT: x"], input="", timeout=60)
            assert (done.success, done.stdout) == (False, "")

    anyio.run(check)


RACE = """
import os, re
open("/tmp/ready", "w").close()
seen = set()
while True:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if pid in seen:
            continue
        try:
            words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\\0")
            if len(words) > 4 and re.fullmatch(b"[0-9a-f]{16}", words[4]):
                seen.add(pid)
                forged = b"%s:%s\\n%s:1\\n" % (words[4], b"9" * 5000, words[4])
                os.write(os.open(f"/proc/{pid}/fd/2", os.O_WRONLY), forged)
                open("/tmp/forged", "a").write(pid)
        except OSError:
            pass
"""


@pytest.mark.slow
def test_what_an_agent_forges_before_a_command_s_first_words_harms_nobody(opened) -> None:
    start = 'setsid python3 -c "$0" >/dev/null 2>&1 & until [ -e /tmp/ready ]; do :; done'

    async def check() -> None:
        async with opened() as box:
            await box.exec(["bash", "-c", start, RACE], timeout=60)
            for _ in range(10):
                done = await box.exec(["echo", "hi"], timeout=60)
                assert (done.returncode, done.stdout) == (0, "hi\n")
            with pytest.raises(TimeoutError):
                await box.exec(["sleep", "60"], timeout=1)
            assert (await box.exec(["test", "-s", "/tmp/forged"])).success
            done = await exec_check(box, ["echo", "CORRECT: x"], input="", timeout=60)
            assert done.stdout == "CORRECT: x\n"

    anyio.run(check)


def test_the_image_is_built_once_and_named_after_its_files(
    environment: Environment, config: DockerConfig
) -> None:
    again = docker_config(environment)
    assert again.blueprint == config.blueprint
    (environment.directory / "codebase" / "src" / "more.txt").write_text("x")
    assert docker_config(environment).blueprint != config.blueprint


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


def test_output_is_bounded_and_input_and_variables_arrive(opened) -> None:
    async def check() -> None:
        async with opened() as box:
            with override_max_exec_output_size(10):
                done = await box.exec(["sh", "-c", "seq 100; echo $A >&2"], env={"A": "b c"})
            assert (done.stdout, done.stderr) == ("98\n99\n100\n", "b c\n")
            done = await box.exec(["sh", "-c", "pwd; cat | wc -c"], input="é" * 10**6, cwd="..")
            assert done.stdout.split() == ["/", "2000000"]

    anyio.run(check)


def test_a_timeout_says_what_had_been_written(opened) -> None:
    async def check() -> None:
        async with opened() as box:
            with pytest.raises(TimeoutError) as caught:
                await box.exec(["sh", "-c", "echo so far; sleep 60"], timeout=1)
            assert getattr(caught.value, "truncated_output") == "so far\n"  # noqa: B009
            assert (await box.exec(["pgrep", "sleep", "-u", "agent"])).returncode == 1

    anyio.run(check)


def test_a_check_that_hangs_is_ended_with_all_that_it_started(opened) -> None:
    script = "$CT_AS_AGENT sleep 701 & sleep 702"

    async def check() -> None:
        async with opened() as box:
            with pytest.raises(TimeoutError):
                await exec_check(box, ["sh", "-s"], input=script, timeout=1.5)
            left = await box.exec(["sh", "-c", "ps -eo args= | grep '^sleep 70'"])
            assert left.stdout == ""

    anyio.run(check)


def test_a_shell_for_a_human(opened) -> None:
    async def check() -> None:
        async with opened() as box:
            connection = await box.connection()
            assert connection.container == containers_of("tiny")[0]
            command = shlex.split(connection.command.replace(" -it ", " -i "))
            done = subprocess.run(
                command, input="id -un; pwd", text=True, capture_output=True, check=False
            )
            assert done.stdout.split()[-2:] == ["agent", "/app"], done.stderr
            command = shlex.split((await box.connection(user="root")).command)
            assert command[command.index("--user") + 1] == "root"
            await DockerSandbox.sample_cleanup("task", None, {"default": box}, True)
            with pytest.raises(ConnectionError):
                await box.connection()

    anyio.run(check)


def test_a_sandbox_that_is_gone_is_unavailable(opened) -> None:
    async def check() -> None:
        async with opened() as box:
            await box.sample.remove()
            for work in (box.exec(["id"]), box.read_file("x"), box.write_file("x", "y")):
                with pytest.raises(SandboxUnavailableError):
                    await work

    anyio.run(check)


def test_an_engine_that_cannot_be_asked_at_first_is_asked_again_beside_the_event_loop(
    config: DockerConfig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    threads = []

    def hiccup(most_at_once: int) -> DockerClient:
        threads.append(threading.current_thread())
        if len(threads) == 1:
            raise DockerException("no file descriptors")
        return open_client(most_at_once)

    monkeypatch.setattr(calls, "open_client", hiccup)
    monkeypatch.setenv(calls.AT_ONCE, "7")  # for which no connection is open yet

    async def check() -> None:
        samples: list[dict[str, SandboxEnvironment]] = []

        async def start() -> None:
            samples.append(await DockerSandbox.sample_init("task", config, {}))

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(start)
        for boxes in samples:
            assert (await boxes["default"].exec(["true"])).success
            await DockerSandbox.sample_cleanup("task", config, boxes, False)

    anyio.run(check)
    assert things_of("tiny") == []
    assert len(threads) == 2
    assert threading.main_thread() not in threads
    (warning,) = caplog.messages
    assert "is tried again in" in warning
    assert warning.endswith("(1 of 7): the Docker engine does not answer: no file descriptors")


def test_a_start_that_is_cancelled_leaves_nothing(config: DockerConfig) -> None:
    async def check() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(DockerSandbox.sample_init, "task", config, {})
            while not containers_of("tiny"):
                await anyio.sleep(0)
            group.cancel_scope.cancel()
        assert things_of("tiny") == []

    anyio.run(check)


def test_what_a_run_left_is_removed_at_its_end_and_no_other_run_s(config: DockerConfig) -> None:
    other = config.model_copy(update={"provision": "another"})

    async def check() -> None:
        await DockerSandbox.sample_init("one", config, {})
        kept = await DockerSandbox.sample_init("one", other, {})
        await DockerSandbox.task_cleanup("shutdown", config, False)
        assert len(containers_of("tiny")) == 2
        await DockerSandbox.task_cleanup("shutdown", config, True)
        assert len(containers_of("tiny")) == 1
        assert (await kept["default"].exec(["true"])).success
        await DockerSandbox.sample_cleanup("one", other, kept, True)
        await DockerSandbox.task_cleanup("shutdown", other, True)
        assert things_of("tiny") == []

    anyio.run(check)


def test_inspect_has_what_is_left_removed_at_the_end_of_an_eval(
    config: DockerConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    @solver
    def look() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            seen.append(len(containers_of("tiny")))
            return state

        return solve

    async def fail(*args: object) -> None:
        """As if the engine hung."""

    monkeypatch.setattr(DockerSandbox, "sample_cleanup", fail)
    task = Task(
        dataset=[Sample("x")], solver=look(), sandbox=SandboxEnvironmentSpec("ct-docker", config)
    )
    (log,) = inspect_eval(task, model="mockllm/model", display="none", log_dir=str(tmp_path))
    assert log.status == "success"
    assert seen == [1]
    assert things_of("tiny") == []


def test_what_a_start_could_not_remove_is_removed_at_the_end_of_the_run(
    config: DockerConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung = config.model_copy(update={"startup_retries": 0, "provision": "hung"})

    async def check() -> None:
        with monkeypatch.context() as engine_hangs:

            async def refuse(*args: object) -> None:
                raise ReadTimeout("the engine hangs")

            engine_hangs.setattr(calls.EngineCalls, "start", refuse)
            engine_hangs.setattr(calls.EngineCalls, "remove_container", refuse)
            with pytest.raises(SandboxStartError, match="the engine hangs"):
                await DockerSandbox.sample_init("task", hung, {})
        assert len(containers_of("tiny")) == 1
        await DockerSandbox.task_cleanup("shutdown", hung, True)
        assert things_of("tiny") == []

    anyio.run(check)


def test_a_configuration_of_another_kind_is_refused() -> None:
    async def check() -> None:
        with pytest.raises(TypeError, match="DockerConfig"):
            await DockerSandbox.sample_init("task", "compose.yaml", {})

    anyio.run(check)


def test_a_command_line_with_odd_words_arrives_whole(opened) -> None:
    words = ["a b", "$(id)", "it's", '"', "", "\\", "é"]

    async def check() -> None:
        async with opened() as box:
            done = await box.exec(["printf", "%s\\n", *words])
            assert done.stdout.split("\n")[:-1] == words, shlex.join(words)

    anyio.run(check)
