"""Running commands: results, their end, and what they may leave behind."""

from __future__ import annotations

import uuid

import anyio
import pytest
from inspect_ai.util import SandboxUnavailableError, SandboxUserUnsupportedError
from inspect_ai.util._sandbox.limits import override_max_exec_output_size

from control_tower.sandboxes.listening import listening


def mark() -> str:
    """A number of seconds to sleep that no other process has."""
    return f"9{uuid.uuid4().int % 10**8:08}"


async def shell(box, script, **options):
    return await box.exec(["/bin/sh", "-c", script], **options)


def test_the_exit_code_and_both_streams_come_back(inside):
    async def check(box):
        result = await shell(box, "echo out; echo err >&2; exit 7")
        assert (result.returncode, result.stdout, result.stderr) == (7, "out\n", "err\n")
        assert not result.success

    inside(check)


def test_what_it_prints_is_heard_while_it_runs(inside):
    async def check(box):
        heard = []
        with listening(lambda *said: heard.append(said)):
            async with anyio.create_task_group() as group:
                group.start_soon(
                    shell, box, "echo out; echo err >&2; until [ -e go ]; do sleep 0.01; done"
                )
                while len(heard) < 2:
                    await anyio.sleep(0.01)
                await box.write_file("go", "")
        assert sorted(heard) == [("stderr", b"err\n"), ("stdout", b"out\n")]

    inside(check)


def test_a_death_by_signal_is_128_and_its_number(inside):
    async def check(box):
        assert (await shell(box, "kill -KILL $$")).returncode == 137
        assert (await shell(box, "kill -SEGV $$")).returncode == 139

    inside(check)


def test_undecodable_output_is_replaced(inside):
    async def check(box):
        assert (await box.exec(["printf", r"a\377b"])).stdout == "a\ufffdb"

    inside(check)


def test_a_missing_program_is_a_failed_result(inside):
    async def check(box):
        result = await box.exec(["no-such-program"])
        assert result.returncode == 127 and "no-such-program" in result.stderr
        assert (await box.exec(["name=value"])).returncode == 127

    inside(check)


def test_a_program_that_may_not_run_raises_and_one_that_says_so_does_not(inside):
    async def check(box):
        with pytest.raises(PermissionError):
            await box.exec(["./src/main.py"])
        assert (await shell(box, "echo Permission denied >&2; exit 126")).returncode == 126

    inside(check)


def test_the_working_folder(inside):
    async def check(box):
        assert (await box.exec(["pwd"])).stdout == "/app\n"
        assert (await box.exec(["pwd"], cwd="src")).stdout == "/app/src\n"
        assert (await box.exec(["pwd"], cwd="/usr")).stdout == "/usr\n"
        missing = await box.exec(["pwd"], cwd="nowhere")
        assert missing.returncode == 125 and "nowhere" in missing.stderr

    inside(check)


def test_another_workspace(inside):
    async def check(box):
        assert (await box.exec(["./run.sh"])).stdout == "ran\n"
        assert (await box.exec(["pwd"])).stdout == "/srv/ledger\n"

    inside(check, workspace="/srv/ledger")


def test_input_larger_than_what_is_read_is_no_error(inside):
    async def check(box):
        assert (await box.exec(["head", "-c", "3"], input=b"abc" * 10**6)).stdout == "abc"

    inside(check)


def test_only_the_last_part_of_long_output_is_kept(inside):
    async def check(box):
        with override_max_exec_output_size(1000):
            result = await shell(box, "seq 1 99999; seq 1 99999 >&2")
        for stream in (result.stdout, result.stderr):
            assert len(stream) == 1000 and stream.endswith("\n99998\n99999\n")

    inside(check)


def test_there_is_one_user(inside):
    async def check(box):
        for known in (None, "agent", "1000"):
            assert (await box.exec(["id", "-un"], user=known)).stdout == "agent\n"
        for unknown in ("root", "0", "nobody", ""):
            with pytest.raises(SandboxUserUnsupportedError):
                await box.exec(["id"], user=unknown)

    inside(check)


@pytest.mark.parametrize("prefix", ["", "setsid "])
def test_a_daemon_that_holds_the_output_open_does_not_hold_the_call(inside, prefix):
    async def check(box):
        with anyio.fail_after(60):
            result = await shell(box, f"{prefix}sleep {mark()} & echo started")
        assert result.stdout == "started\n"

    inside(check)


def test_all_that_was_written_before_the_end_arrives(inside):
    async def check(box):
        result = await shell(box, f"sleep {mark()} & seq 1 200000")
        assert result.stdout.endswith("\n200000\n") and result.stdout.startswith("1\n2\n")

    inside(check)


def test_a_daemon_lives_on_between_calls(inside, until):
    async def check(box):
        loop = "while read x; do echo got $x; done"
        await shell(box, f"mkfifo /tmp/pipe; setsid sh -c '{loop}' <>/tmp/pipe >/tmp/log 2>&1 &")
        await shell(box, "echo word >/tmp/pipe")

        async def answered():
            return (await box.exec(["cat", "/tmp/log"])).stdout == "got word\n"

        await until(answered)

    inside(check)


def test_orphans_are_collected(inside, until):
    async def check(box):
        await shell(box, "for i in 1 2 3 4 5; do setsid sh -c 'sleep 0.01' & done")

        async def collected():
            states = await shell(box, "cut -d' ' -f3 /proc/[0-9]*/stat 2>/dev/null")
            return "Z" not in states.stdout

        await until(collected)

    inside(check)


BACKGROUND = "trap '' TERM HUP INT; sleep {0} & (sleep {0} &) ; setsid sleep {0} & sleep {0}; wait"


def test_a_timeout_kills_the_whole_command(inside, host_processes):
    marker = mark()

    async def check(box):
        with pytest.raises(TimeoutError):
            await shell(box, BACKGROUND.format(marker), timeout=1)
        assert host_processes(marker) == []
        assert (await box.exec(["echo", "fine"])).stdout == "fine\n"

    inside(check)


def test_a_timeout_spares_earlier_daemons(inside, host_processes):
    daemon, marker = mark(), mark()

    async def check(box):
        await shell(box, f"setsid sleep {daemon} >/dev/null 2>&1 &")
        with pytest.raises(TimeoutError):
            await shell(box, f"sleep {marker}", timeout=1)
        assert host_processes(daemon) and not host_processes(marker)

    inside(check)


def test_cancelling_the_caller_kills_the_whole_command(inside, host_processes, until):
    marker = mark()

    async def check(box):
        async with anyio.create_task_group() as group:
            group.start_soon(shell, box, BACKGROUND.format(marker))

            async def all_started():
                return len(host_processes(marker)) >= 5

            await until(all_started)
            group.cancel_scope.cancel()
        assert host_processes(marker) == []
        assert (await box.exec(["echo", "fine"])).stdout == "fine\n"

    inside(check)


def test_a_stopped_command_still_times_out(inside):
    async def check(box):
        with pytest.raises(TimeoutError):
            await shell(box, "kill -STOP $$", timeout=1)

    inside(check)


def test_a_sandbox_that_has_ended_is_unavailable(inside, until):
    async def check(box):
        box.holder.stop()
        with pytest.raises(SandboxUnavailableError):
            await box.exec(["true"])
        with pytest.raises(SandboxUnavailableError):
            await box.read_file("run.sh")
        with pytest.raises(ConnectionError):
            await box.connection()

    inside(check)


def test_a_command_cannot_pass_its_failure_off_as_the_sandboxs(inside):
    async def check(box):
        result = await shell(box, "echo 'nsenter: fork failed' >&2; exit 1")
        assert result.returncode == 1

    inside(check)


def test_the_connection_is_a_command_line_that_enters(inside):
    async def check(box):
        connection = await box.connection()
        process = await anyio.run_process(
            connection.command, input=b"id -un; pwd; exit\n", check=False
        )
        assert process.stdout.split() == [b"agent", b"/app"]

    inside(check)


def test_it_works_under_trio_s_rules_too(opened):
    pytest.importorskip("trio")

    async def body():
        async with opened() as box:
            assert (await box.exec(["cat"], input="x")).stdout == "x"

    anyio.run(body, backend="trio")
