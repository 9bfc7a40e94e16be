"""Commands in bare containers, and their end."""

from __future__ import annotations

import subprocess

import anyio
import pytest
from support.engine_containers import image, running

from control_tower.sandboxes.docker import commands, killing
from control_tower.sandboxes.docker.commands import CommandTimeout, run_command
from control_tower.sandboxes.docker.engine import engine
from control_tower.sandboxes.docker.execution import ContainerUnavailable
from control_tower.sandboxes.docker.killing import kill_command

pytestmark = [pytest.mark.docker]

LIMIT = 10 * 2**20


def in_container(check, **options):
    """Run `check(run)` where `run(*words, …)` runs a command in a container as nobody."""

    async def body():
        async with running(**options) as (calls, container):

            async def run(*words, user="nobody", cwd="/tmp", limit=LIMIT, **more):
                return await run_command(
                    calls, container, words, user=user, cwd=cwd, limit=limit, **more
                )

            run.calls, run.container = calls, container
            await check(run)

    anyio.run(body)


async def lines(run, script):
    """What a script prints, as root."""
    return (await run("sh", "-c", script, user="root")).stdout.decode().splitlines()


async def commands_of(run, *programs):
    """The command lines of running processes of these programs."""
    return await lines(run, f"ps -o args= -C {','.join(programs)} | grep -v defunct; true")


def test_user_folder_variables_and_exit_code():
    async def check(run):
        done = await run("sh", "-c", 'id -un; pwd; echo "$A-$B"; exit 7', env={"A": "1 2"})
        assert done.stdout == b"nobody\n/tmp\n1 2-\n"
        assert (done.returncode, done.stderr) == (7, b"")
        done = await run("sh", "-c", "id -un; pwd", user=None, cwd="/usr")
        assert done.stdout == b"root\n/usr\n"
        done = await run("id", "-u", user="1234:7")
        assert done.stdout == b"1234\n"

    in_container(check)


def test_a_variable_that_no_shell_would_pass_on_arrives():
    async def check(run):
        done = await run("env", env={"a.b-c": "x=y", "PLAIN": "1"})
        assert {"a.b-c=x=y", "PLAIN=1"} <= set(done.stdout.decode().splitlines())

    in_container(check)


@pytest.mark.parametrize("size", [0, 1, 5 * 2**20])
def test_input_arrives_whole(size):
    async def check(run):
        data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
        done = await run("cat", input=data)
        assert done.stdout == data

    in_container(check)


def test_without_input_there_is_nothing_to_wait_for():
    async def check(run):
        assert (await run("cat", timeout=60)).stdout == b""

    in_container(check)


def test_input_that_is_not_read_keeps_nobody():
    async def check(run):
        done = await run("sh", "-c", "exit 3", input=b"x" * 20 * 2**20, timeout=60)
        assert done.returncode == 3

    in_container(check)


def test_the_last_bytes_of_each_stream_are_kept():
    async def check(run):
        script = "yes | head -c 5000000; echo end; yes n | head -c 3000000 >&2; echo last >&2"
        done = await run("sh", "-c", script, limit=100)
        assert done.stdout == (b"y\n" * 48 + b"end\n")[-100:]
        assert done.stderr.endswith(b"n\nlast\n")
        assert len(done.stderr) == 100

    in_container(check)


@pytest.mark.parametrize(
    ("words", "more", "code", "words_said"),
    [
        (["nope"], {}, 127, b"not found"),
        (["/etc/passwd"], {}, 126, b"ermission denied"),
        (["id"], {"cwd": "/none"}, 125, b"/none"),
        (["id"], {"cwd": "/root"}, 125, b"/root"),
        (["id"], {"user": "nonexistent"}, 126, b"nonexistent"),
        (["sh", "-c", "kill -TERM $$"], {}, 143, b""),
        (["sh", "-c", "kill -KILL $$"], {}, 137, b""),
        (["sh", "-c", "exec >&- 2>&-; sleep 0.3; exit 5"], {}, 5, b""),
    ],
)
def test_how_a_command_failed_is_told_apart(words, more, code, words_said):
    async def check(run):
        done = await run(*words, **more)
        assert (done.returncode, done.stdout) == (code, b"")
        assert words_said in done.stderr
        assert done.denied == (words == ["/etc/passwd"])

    in_container(check)


def test_a_daemon_that_holds_the_streams_keeps_nobody_and_lives_on():
    async def check(run):
        done = await run("sh", "-c", "sleep 987 & echo started", timeout=60)
        assert done.stdout == b"started\n"
        assert await commands_of(run, "sleep") == ["sleep infinity", "sleep 987"]

    in_container(check)


STUBBORN = """
trap '' TERM INT HUP
sleep 901 &
sh -c "trap '' TERM; sleep 902; :" &
setsid sleep 903 &
(setsid sleep 904 &)
echo begun
sleep 905
"""


def test_at_a_timeout_all_of_the_command_is_killed_but_what_had_left_it():
    async def check(run):
        await run("sh", "-c", "setsid sleep 800 >/dev/null 2>&1 &")
        with pytest.raises(CommandTimeout) as caught:
            await run("sh", "-c", STUBBORN, timeout=1.5)
        assert caught.value.truncated_output == "begun\n"
        left = await commands_of(run, "sleep", "sh")
        assert [line for line in left if line.startswith("sleep")] == [
            "sleep infinity",
            "sleep 800",
            "sleep 904",
        ]

    in_container(check)


def test_a_command_that_is_cancelled_is_killed():
    async def check(run):
        async with anyio.create_task_group() as group:
            group.start_soon(run, "sleep", "906")
            while len(await commands_of(run, "sleep")) < 2:
                await anyio.sleep(0.05)
            group.cancel_scope.cancel()
        assert await commands_of(run, "sleep") == ["sleep infinity"]

    in_container(check)


def test_a_command_that_is_cancelled_at_once_leaves_nothing():
    async def check(run):
        with anyio.move_on_after(0):
            await run("sleep", "907")
        assert await commands_of(run, "sleep") == ["sleep infinity"]

    in_container(check)


def test_a_process_whose_name_misleads_is_killed_too():
    program = """
import ctypes, time
ctypes.CDLL(None).prctl(15, b"a) Z 1 1\\n1 (b")
print(open("/proc/self/comm").read(), flush=True)
time.sleep(908)
"""

    async def check(run):
        with pytest.raises(CommandTimeout) as caught:
            await run("sh", "-c", 'python3 -c "$0" & sleep 909', program, timeout=1.5)
        assert caught.value.truncated_output.startswith("a) Z 1 1\n1 (b")
        assert await lines(run, "ps -eo args= | grep '[t]ime.sleep'") == []
        assert await commands_of(run, "sleep") == ["sleep infinity"]

    in_container(check)


@pytest.mark.slow
def test_a_command_that_uses_up_all_processes_is_killed():
    program = """
import os
while True:
    try:
        os.fork()
    except OSError:
        print("no more", flush=True)
"""

    async def check(run):
        with pytest.raises(CommandTimeout) as caught:
            await run("python3", "-c", program, timeout=1.5)
        assert "no more" in caught.value.truncated_output
        assert await lines(run, "ps -C python3 -o stat= | grep -v Z") == []

    in_container(check, host={"PidsLimit": 30})


def test_where_root_may_kill_nobody_the_command_s_own_user_does():
    async def check(run):
        with pytest.raises(CommandTimeout):
            await run("sh", "-c", "sleep 910 & sleep 911", timeout=1)
        assert await commands_of(run, "sleep") == ["sleep infinity"]

    in_container(check, host={"CapDrop": ["ALL"], "CapAdd": ["SETUID", "SETGID"]})


def test_nothing_older_than_the_command_is_killed_whatever_number_it_tells():
    async def check(run):
        session = (await run("sh", "-c", "echo $$; sleep 912 >/dev/null 2>&1 &")).stdout
        # The clock in the container has whole seconds.
        (born,) = await lines(run, "cut -d. -f1 /proc/uptime")
        while await lines(run, "cut -d. -f1 /proc/uptime") < [str(int(born) + 3)]:
            await anyio.sleep(0.1)
        now = anyio.current_time()
        await kill_command(run.calls, run.container, int(session), began=now, user="nobody")
        assert "sleep 912" in await commands_of(run, "sleep")
        await kill_command(run.calls, run.container, int(session), began=now - 60, user="nobody")
        assert "sleep 912" not in await commands_of(run, "sleep")

    in_container(check)


def test_no_false_number_has_root_kill_what_the_engine_did_not_start():
    """The session is younger than `began`, and another user's than the command."""
    script = "setsid sh -c 'echo $$; sleep 913; :' 2>/dev/null & :"

    async def check(run):
        began = anyio.current_time() - 60
        told = await run("sh", "-c", f"({script}) | head -n 1", user="root", timeout=60)
        for number in (int(told.stdout), 0, 1, 9_999_999_999):
            await kill_command(run.calls, run.container, number, began=began, user="nobody")
            assert {"sleep infinity", "sleep 913"} <= set(await commands_of(run, "sleep"))
        await kill_command(run.calls, run.container, int(told.stdout), began=began, user="root")
        assert await commands_of(run, "sleep") == ["sleep infinity"]

    in_container(check)


FALSE_SHELLS = {
    "hangs": "sleep 914",
    "floods": "exec yes",
    "tells a false number and hangs": 'echo "$4:1" >&2; sleep 914',
    "tells a number that is none": """echo "$4:$(printf '%05000d' 9)" >&2; sleep 914""",
    "answers with numbers": """echo "${4:-x}:7" >&2; printf '%09000d\\n' 9; sleep 914""",
}


@pytest.mark.slow
@pytest.mark.parametrize("behaves", FALSE_SHELLS)
def test_whatever_root_puts_in_the_shell_s_place_a_timeout_is_one(behaves, monkeypatch):
    for name in ("_ANSWER", "_PATIENCE"):
        monkeypatch.setattr(killing, name, 1)
    monkeypatch.setattr(commands, "_TO_BEGIN", 1.0)

    async def check(run):
        script = f"#!/bin/bash\n{FALSE_SHELLS[behaves]}\n"
        install = "cat >/tmp/false; chmod 755 /tmp/false; mv /tmp/false /bin/sh"
        await run("bash", "-c", install, user="root", input=script.encode())
        with pytest.raises(CommandTimeout):
            await run("id", user="root", timeout=1)

    in_container(check)


def test_a_container_that_has_ended_runs_nothing():
    async def check(run):
        with pytest.raises(ContainerUnavailable, match="ended"):
            await run("sh", "-c", "kill -9 $(pidof sleep); sleep 60", user="root", timeout=50)
        with pytest.raises(ContainerUnavailable):
            await run("id")

    in_container(check)


def test_a_container_that_is_gone_runs_nothing():
    async def body():
        async with running() as (calls, container):
            pass
        with pytest.raises(ContainerUnavailable, match="No such container"):
            await run_command(calls, container, ["id"], user=None, cwd="/", limit=LIMIT)

    anyio.run(body)


@pytest.mark.parametrize("count", [24])
def test_many_commands_run_side_by_side(count):
    async def check(run):
        found = {}

        async def one(number):
            done = await run("sh", "-c", f"cat; echo {number}", input=b"%d-" % number)
            found[number] = done.stdout

        async with anyio.create_task_group() as group:
            for number in range(count):
                group.start_soon(one, number)
        assert found == {number: b"%d-%d\n" % (number, number) for number in range(count)}

    in_container(check)


BARE = """
ARG BASE
FROM $BASE AS base
RUN mkdir -p /bare/bin /bare/etc /bare/tmp && cp /bin/dash /bare/bin/sh \
 && cp --parents -L $(ldd /bin/dash | grep -o '/[^ ]*') /bare && cp /etc/passwd /bare/etc
FROM scratch
COPY --from=base /bare /
"""


@pytest.fixture(scope="module")
def bare_image():
    """An image that has a shell and nothing else."""
    name = "control-tower-test-bare:1"
    build = ["docker", "build", "-q", "-t", name, "--build-arg", f"BASE={image()}", "-"]
    subprocess.run(build, input=BARE, text=True, check=True, capture_output=True)
    yield name
    subprocess.run(["docker", "rmi", name], check=True, capture_output=True)


def processes(container: str) -> list[list[str]]:
    """Numbers, as the engine's host counts them, of all that runs in a container."""
    with engine() as client:
        found = client.containers.get(container).top(ps_args="-eo pid")
    return found["Processes"] or []


@pytest.mark.slow
def test_a_shell_is_all_that_an_image_needs(bare_image):
    async def check(run):
        done = await run("sh", "-c", "read -r line; echo got $line; exit 4", input=b"it\n")
        assert (done.returncode, done.stdout) == (4, b"got it\n")
        before = processes(run.container)
        with pytest.raises(CommandTimeout):
            await run(
                "sh", "-c", "trap '' TERM; (while :; do :; done) & while :; do :; done", timeout=1
            )
        with anyio.fail_after(30):  # the shell that killed it ends a moment later
            while processes(run.container) != before:
                await anyio.sleep(0.05)

    in_container(check, image_name=bare_image, Cmd=["sh", "-c", "read -r x"], OpenStdin=True)
