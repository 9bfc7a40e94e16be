"""Reading and writing files, as Inspect describes it, inside the sandbox's view."""

from __future__ import annotations

import os

import pytest
from inspect_ai.util import OutputLimitExceededError
from inspect_ai.util._sandbox.limits import override_max_read_file_size


def test_contents_come_back_as_they_were(inside):
    async def check(box):
        for contents in ("a\r\nb\nc", "", "☂ \u0000 end", "no newline"):
            await box.write_file("deep/er/file", contents)
            assert await box.read_file("deep/er/file") == contents
        await box.write_file("/tmp/bytes", bytes(range(256)))
        assert await box.read_file("/tmp/bytes", text=False) == bytes(range(256))

    inside(check)


def test_names_that_a_shell_would_trip_over(inside):
    async def check(box):
        for name in ("-n", "$(touch x)", "a b", "'q'\"", "*"):
            await box.write_file(name, name)
            assert await box.read_file(name) == name
        assert not (await box.exec(["ls", "x"])).success

    inside(check)


def test_a_file_that_is_written_belongs_to_the_agent(inside):
    async def check(box):
        await box.write_file("new/file", "x")
        listed = await box.exec(["stat", "-c", "%U", "new", "new/file", "run.sh", "src", "."])
        assert set(listed.stdout.split()) == {"agent"}

    inside(check)


def test_reading_what_is_not_there(inside):
    async def check(box):
        for path in ("missing", "missing/too", "run.sh/below", "/nowhere/at/all"):
            with pytest.raises(FileNotFoundError, match=path):
                await box.read_file(path)

    inside(check)


def test_folders_are_not_files(inside):
    async def check(box):
        with pytest.raises(IsADirectoryError):
            await box.read_file("src")
        with pytest.raises(IsADirectoryError):
            await box.write_file("src", "x")

    inside(check)


def test_permission(inside):
    async def check(box):
        await box.exec(["chmod", "000", "run.sh"])
        with pytest.raises(PermissionError):
            await box.read_file("run.sh")
        for path in ("run.sh", "/usr/file", "/etc/passwd", "/new/folder/file"):
            with pytest.raises(PermissionError):
                await box.write_file(path, "x")

    inside(check)


def test_what_is_no_text_is_only_read_as_bytes(inside):
    async def check(box):
        await box.write_file("bytes", b"\xff")
        with pytest.raises(UnicodeDecodeError):
            await box.read_file("bytes")
        assert await box.read_file("bytes", text=False) == b"\xff"

    inside(check)


def test_the_read_limit(inside):
    async def check(box):
        await box.write_file("file", "x" * 1000)
        with override_max_read_file_size(1000):
            assert len(await box.read_file("file")) == 1000
        with override_max_read_file_size(999), pytest.raises(OutputLimitExceededError):
            await box.read_file("file")

    inside(check)


def test_a_pipe_in_a_files_place_does_not_hang_its_reader(inside):
    async def check(box):
        await box.exec(["mkfifo", "pipe"])
        with pytest.raises(PermissionError, match="Not a regular file"):
            await box.read_file("pipe")
        with pytest.raises(PermissionError, match="Not a regular file"):
            await box.write_file("pipe", "x")

    inside(check)


def test_helpers_are_not_the_agents_programs(inside):
    async def check(box):
        await box.exec(["mkdir", "-p", "/home/agent/bin"])
        for name in ("head", "cat", "env", "sh", "setsid"):
            await box.write_file(f"/home/agent/bin/{name}", "#!/bin/sh\necho forged\n")
            await box.exec(["chmod", "+x", f"/home/agent/bin/{name}"])
        await box.write_file("/home/agent/.profile", "PATH=/home/agent/bin:$PATH\n")
        assert await box.read_file("run.sh") == "#!/bin/sh\necho ran\n"
        path = {"PATH": "/home/agent/bin:/usr/bin"}
        assert (await box.exec(["cat", "run.sh"], env=path)).stdout == "forged\n"

    inside(check)


def test_the_copy_keeps_links_modes_and_times_and_leaves_the_source_alone(inside, code, tmp_path):
    (tmp_path / "outside").write_text("secret")
    (code / "out").symlink_to(tmp_path / "outside")
    (code / "in").symlink_to("run.sh")
    (code / "read-only").mkdir()
    (code / "read-only" / "file").write_text("x")
    (code / "read-only" / "file").chmod(0o444)
    (code / "read-only").chmod(0o555)
    os.mkfifo(code / "pipe")
    os.utime(code / "run.sh", (1_000_000_000, 1_000_000_000))

    async def check(box):
        assert (await box.exec(["readlink", "in"])).stdout == "run.sh\n"
        assert await box.read_file("in") == "#!/bin/sh\necho ran\n"
        with pytest.raises((FileNotFoundError, PermissionError)):
            await box.read_file("out")
        found = await box.exec(["stat", "-c", "%a %Y", "run.sh"])
        assert found.stdout == "755 1000000000\n"
        await box.write_file("read-only/file", "changed")
        await box.write_file("read-only/new", "new")
        assert not (await box.exec(["test", "-e", "pipe"])).success

    inside(check)
    assert (code / "read-only" / "file").read_text() == "x"
    assert not (code / "read-only" / "new").exists()
    (code / "read-only").chmod(0o755)
