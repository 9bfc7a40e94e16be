"""Limits hold for commands and their children, and for one sandbox only."""

from __future__ import annotations

import os

import anyio
import pytest


async def shell(box, script, **options):
    return await box.exec(["/bin/sh", "-c", script], **options)


def test_memory(inside):
    async def check(box):
        take = "x = bytearray({} << 20); print('had it')"
        assert (await box.exec(["python3", "-c", take.format(50)])).success
        result = await shell(box, f'python3 -c "{take.format(600)}"')
        assert not result.success and "MemoryError" in result.stderr

    inside(check, memory_mb=256)


def test_file_size(inside):
    async def check(box):
        result = await shell(box, "head -c 3000000 /dev/zero >big; echo; wc -c <big")
        assert int(result.stdout) == 1024 * 1024
        with pytest.raises(OSError, match="File too large"):
            await box.write_file("other", b"x" * 2_000_000)

    inside(check, file_size_mb=1)


def test_the_size_of_tmp(inside):
    async def check(box):
        result = await shell(box, "head -c 3000000 /dev/zero >/tmp/big")
        assert "No space left" in result.stderr
        with pytest.raises(OSError, match="No space left"):
            await box.write_file("/tmp/other", b"x" * 2_000_000)

    inside(check, tmp_size_mb=1)


def test_no_core_files_and_no_higher_priority(inside):
    async def check(box):
        assert (await shell(box, "ulimit -c; ulimit -H -c")).stdout.split() == ["0", "0"]
        own = os.nice(0)
        assert (await box.exec(["nice", "-n", "-5", "nice"])).stdout == f"{own}\n"

    inside(check)


def test_limits_cannot_be_raised(inside):
    async def check(box):
        assert (await box.exec(["prlimit", "--nproc=99999", "true"])).returncode != 0
        assert (await box.exec(["prlimit", "--as=unlimited", "true"])).returncode != 0

    inside(check)


BOMB = "for i in $(seq 200); do setsid sleep 300 >/dev/null 2>&1 & done"


def test_a_fork_bomb_stays_in_its_sandbox_and_cannot_keep_us_out(opened):
    async def body():
        async with opened(processes=40) as bombed, opened(processes=40) as other:
            assert "fork" in (await shell(bombed, BOMB)).stderr.lower()
            names = await bombed.exec(["/bin/sh", "-c", "echo /proc/[0-9]*"])
            assert names.success and len(names.stdout.split()) <= 40 + 3
            await bombed.write_file("run.sh", "still written")
            assert await bombed.read_file("run.sh") == "still written"

            script = "for i in $(seq 20); do sleep 0.2 & done; wait; echo fine"
            assert (await shell(other, script)).stdout == "fine\n"

            await shell(bombed, "kill -9 -1")
            assert (await shell(bombed, "echo $(echo again)")).stdout == "again\n"

    anyio.run(body)
