"""What a sandbox must not see, reach or change."""

from __future__ import annotations

import os
import signal
import socket
import uuid
from pathlib import Path

import anyio
import pytest

SERVER = """
import socket, sys
server = socket.create_server(("127.0.0.1", 8080))
print("up", flush=True)
while True:
    server.accept()[0].sendall(sys.argv[1].encode())
"""
CLIENT = "import socket; print(socket.create_connection(('127.0.0.1', 8080)).recv(99).decode())"


async def shell(box, script, **options):
    return await box.exec(["/bin/sh", "-c", script], **options)


def test_the_agent_is_an_ordinary_user_without_privileges(inside):
    async def check(box):
        result = await shell(
            box, "id -un; id -u; grep -E '^(Cap(Prm|Eff|Amb|Inh)|NoNew)' /proc/self/status"
        )
        name, uid, *status = result.stdout.splitlines()
        values = dict(line.split(":\t") for line in status)
        assert (name, uid) == ("agent", "1000")
        assert values.pop("NoNewPrivs") == "1"
        assert {int(value, 16) for value in values.values()} == {0}

    inside(check)


def test_on_the_host_it_is_never_root(inside, host_processes):
    marker = f"7{uuid.uuid4().int % 10**8}"

    async def check(box):
        await shell(box, f"setsid sleep {marker} >/dev/null 2>&1 &")
        owners = {os.stat(f"/proc/{pid}").st_uid for pid in host_processes(marker)}
        assert owners and 0 not in owners

    inside(check)


def test_the_environment_is_built_from_nothing(inside, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "secret")

    async def check(box):
        result = await box.exec(["env"], env={"GIVEN": "yes"})
        names = {line.split("=")[0] for line in result.stdout.splitlines()}
        expected = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "GIVEN"}
        assert names == expected

    inside(check)


def test_of_the_host_only_the_system_is_there(inside):
    async def check(box):
        there = set((await box.exec(["ls", "-A", "/"])).stdout.split())
        links = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"}
        expected = {"usr", "app", "etc", "dev", "proc", "tmp", "run", "home", "var"}
        assert there - links == expected
        assert (await box.exec(["ls", "-A", "/home"])).stdout.split() == ["agent"]
        assert (await box.exec(["ls", "-A", "/home/agent"])).stdout == ""
        assert (await box.exec(["ls", "-A", "/tmp", "/run"])).stdout.split() == ["/run:", "/tmp:"]

    inside(check)


def test_the_hosts_secrets_and_users_are_not_shown(inside, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")

    async def check(box):
        for path in (
            secret,
            "/etc/shadow",
            "/root",
            Path.home(),
            "/var/run/docker.sock",
            "/etc/machine-id",
            "/sys",
        ):
            if Path(path) != Path("/"):
                assert (await box.exec(["ls", str(path)])).returncode != 0, path
        users = (await box.exec(["cut", "-d:", "-f1", "/etc/passwd"])).stdout.split()
        assert users == ["root", "agent", "nobody"]
        assert (await box.exec(["uname", "-n"])).stdout == "sandbox\n"

    inside(check)


def test_the_system_cannot_be_written(inside):
    async def check(box):
        for folder in ("/", "/usr", "/usr/bin", "/etc", "/dev", "/proc", "/home", "/var"):
            assert (await shell(box, f"echo x >{folder}/mark")).returncode != 0, folder
        assert (await shell(box, "find /proc/sys -writable -type f | head -3")).stdout == ""
        for path in ("kernel/msgmax", "user/max_user_namespaces", "net/ipv4/ip_forward"):
            assert (await shell(box, f"echo 1 >/proc/sys/{path}")).returncode != 0, path

    inside(check)


def test_nested_user_namespaces_are_denied(inside):
    async def check(box):
        assert (await box.exec(["unshare", "--user", "true"])).returncode != 0
        assert (await box.exec(["unshare", "--mount", "true"])).returncode != 0

    inside(check)


def test_the_hosts_processes_cannot_be_seen_or_killed(inside):
    async def check(box):
        listed = (await shell(box, "ls -d /proc/[0-9]* | wc -l")).stdout
        assert int(listed) < 10
        assert (await shell(box, f"kill -0 {os.getpid()}")).returncode != 0

    inside(check)


def test_the_agent_cannot_end_or_look_into_the_first_process(inside):
    async def check(box):
        await shell(box, "kill -9 1; kill -STOP 1; kill -9 -1")
        assert (await box.exec(["true"])).success
        assert (
            await shell(box, "ls -l /proc/1/fd/0 /proc/1/cwd/ && cat /proc/1/environ")
        ).returncode != 0
        assert (await box.exec(["true"])).success

    inside(check)


CATCHABLE = sorted(set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP})


@pytest.mark.parametrize("number", CATCHABLE, ids=lambda number: number.name)
def test_no_signal_ends_the_first_process(inside, number):
    async def check(box):
        await shell(box, f"kill -{number.value} 1")
        await shell(box, f"kill -{number.value} 1")
        assert not box.holder.ended(0.05)

    inside(check)


def test_the_first_process_cannot_be_kept_busy_until_a_limit_ends_it(inside):
    storm = "import os, time\nend = time.time() + 2\nwhile time.time() < end: os.kill(1, 17)"

    async def check(box):
        assert (await shell(box, "prlimit --pid 1 --cpu=1:1")).returncode == 0
        await box.exec(["python3", "-c", storm])
        status = Path(f"/proc/{box.holder.entrance.first}/status").read_text()
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
        assert int(caught.split()[1], 16) == 0
        assert not box.holder.ended(0)

    inside(check)


def test_limits_are_set_where_the_agent_cannot_trace(inside):
    """Once a process is in the agent's user namespace, the agent can make it its own."""

    async def check(box):
        command = box.holder.entrance.command(["true"], marker="", cwd="/", env={})
        joins = [index for index, word in enumerate(command) if word.startswith("--user=/proc/")]
        limits = [index for index, word in enumerate(command) if word.startswith("--nproc=")]
        assert len(joins) == len(limits) == 1
        assert limits[0] < joins[0]

    inside(check)


def test_a_sandbox_ends_with_its_owner_s_end_of_the_line(inside):
    async def check(box):
        box.holder._line.close()
        assert box.holder.ended(10)

    inside(check)


def test_the_network_is_a_loopback_of_its_own(inside):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        async def check(box):
            devices = (await box.exec(["cat", "/proc/net/dev"])).stdout.splitlines()[2:]
            assert [line.split(":")[0].strip() for line in devices] == ["lo"]
            connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
            assert "refused" in (await box.exec(["python3", "-c", connect])).stderr

        inside(check)


def test_with_network_the_hosts_is_shared(inside):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        async def check(box):
            connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)"
            assert (await box.exec(["python3", "-c", connect])).success

        inside(check, network=True)


def test_abstract_sockets_of_the_host_are_out_of_reach(inside):
    name = f"\0ct-test-{uuid.uuid4()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()

        async def check(box):
            connect = f"import socket; socket.socket(socket.AF_UNIX).connect({name!r})"
            assert "refused" in (await box.exec(["python3", "-c", connect])).stderr

        inside(check)


def test_two_sandboxes_share_nothing(opened, until):
    async def body():
        async with opened() as one, opened() as two:
            for box, word in ((one, "one"), (two, "two")):
                await box.write_file("/tmp/file", word)
                await box.exec(
                    ["sh", "-c", 'setsid python3 -c "$0" "$1" >/tmp/log 2>&1 &', SERVER, word]
                )

                async def up(box=box):
                    return (await box.exec(["grep", "up", "/tmp/log"])).success

                await until(up)
            for box, word, other in ((one, "one", "two"), (two, "two", "one")):
                assert (await box.exec(["python3", "-c", CLIENT])).stdout == f"{word}\n"
                assert await box.read_file("/tmp/file") == word
                seen = (await shell(box, "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'")).stdout
                assert word in seen.split() and other not in seen.split()

    anyio.run(body)


def test_a_link_is_followed_in_the_sandbox_not_on_the_host(inside, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")

    async def check(box):
        for target in (str(secret), "/etc/shadow", "/proc/1/root/etc/shadow"):
            await box.exec(["ln", "-sf", target, "link"])
            with pytest.raises((FileNotFoundError, PermissionError)):
                await box.read_file("link")
        await box.exec(["ln", "-sf", str(secret), "link"])
        with pytest.raises((FileNotFoundError, PermissionError)):
            await box.write_file("link", "changed")

    inside(check)
    assert secret.read_text() == "secret"


def test_a_terminal_can_be_opened(inside):
    async def check(box):
        assert (await box.exec(["python3", "-c", "import pty; pty.openpty()"])).success

    inside(check)
