"""What an isolated agent, root or not, tries in a real container; and that it works there at all.

Each attempt is made outside of isolation too, where it succeeds: else its failing would tell
nothing.
"""

from __future__ import annotations

import json
import socket
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.isolated import WORKSPACE, Container, container

from control_tower.sandboxes.docker.bubblewrap_files import HOME, TMP

pytestmark = [pytest.mark.docker, pytest.mark.slow]

AGENTS = ("root", "agent")
DECOY = "/srv/host.sock"


@pytest.fixture(scope="module", params=AGENTS)
def box(request, tmp_path_factory) -> Iterator[Container]:
    folder: Path = tmp_path_factory.mktemp(request.param)
    listening = [_listener(folder / name) for name in ("docker.sock", "host.sock")]
    mounts = {"/run/docker.sock": folder / "docker.sock", DECOY: folder / "host.sock"}
    with container(
        request.param, folder, mounts={path: str(file) for path, file in mounts.items()}
    ) as made:
        made.isolate()
        yield made
    for each in listening:
        each.close()


def _listener(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    path.chmod(0o666)
    listening.listen(64)
    return listening


# That it works.


def test_a_command_has_its_folder_input_user_and_exit_code(box) -> None:
    done = box.inside_sh("id -un; pwd; exit 7")
    assert (done.stdout.split(), done.returncode) == ([box.agent, WORKSPACE], 7)
    for cmd, code in (
        (["nosuch"], 127),
        (["/etc/passwd"], 126),
        (["sh", "-c", "kill -TERM $$"], 143),
        (["exit", "0"], 127),  # the shell's own words are no programs
    ):
        assert box.inside(*cmd).returncode == code, cmd


def test_what_is_written_to_the_workspace_is_there(box) -> None:
    assert box.inside_sh("mkdir -p sub && echo yes >sub/file && mv sub/file sub/moved").success
    assert box.outside(["cat", f"{WORKSPACE}/sub/moved"]).stdout == "yes\n"


def test_tmp_is_private_and_stays_between_commands(box) -> None:
    assert box.outside(["touch", "/tmp/of-others"]).success
    assert box.inside_sh("ls -A /tmp; echo mine >/tmp/kept").stdout == ""
    assert box.inside_sh("cat /tmp/kept").stdout == "mine\n"
    assert box.outside(["ls", "-A", "/tmp"]).stdout == "of-others\n"


def test_shared_memory_is_each_command_s_own(box) -> None:
    assert box.inside_sh("echo mine >/dev/shm/file && cat /dev/shm/file").stdout == "mine\n"
    assert not box.inside_sh("cat /dev/shm/file").success


def test_programs_with_threads_children_and_pipes_work(box) -> None:
    program = textwrap.dedent("""
        import multiprocessing, subprocess, threading
        thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(sum(pool.map(abs, [-1, -2])))
            print(subprocess.check_output("cat <(echo piped) | cat", shell=True,
                                          executable="/bin/bash", text=True), end="")
    """)
    done = box.inside("python3", "-c", program)
    assert done.stdout.split() == ["thread", "3", "piped"], done.stderr


# Writing elsewhere.

WRITES = {
    "a new file": "touch /own/new",
    "an existing file": "echo more >>/own/file",
    "a new folder": "mkdir /own/new-folder",
    "removing": "rm /own/gone",
    "renaming": "mv /own/file /own/renamed && mv /own/renamed /own/file",
    "rights": "chmod 600 /own/file",
    "times": "touch /own/file",
    "a link in the workspace": "ln -sfn /own/file link && echo more >>link",
    "a hard link in the workspace": "ln -f /own/file hard && echo more >>hard",
    "opening an open file anew": "exec 3</own/file && echo more >>/proc/self/fd/3",
    "by /proc/self/root": "echo more >>/proc/self/root/own/file",
    "by the working folder of another process": "echo more >>/proc/$VICTIM/cwd/file",
    "by the root of another process": "echo more >>/proc/$VICTIM/root/own/file",
    "by an open file of another process": "echo more >>/proc/$VICTIM/fd/5",
    "what stands for /tmp, by its own name": f"touch {TMP}/new",
    "truncating": "truncate -s 1 /own/file",
    "a pipe's place": "mkfifo /own/pipe",
    "an attribute": 'python3 -c \'import os; os.setxattr("/own/file", "user.x", b"1")\'',
}


@pytest.fixture(scope="module")
def victim(box) -> str:
    """The pid of a process of the same user that is not isolated, as the container counts."""
    said = box.outside(["sh", "-c", "echo of-others >/own/file"])
    assert said.success, said.stderr
    start = "cd /own && setsid sh -c 'echo $$ >/own/pid; exec 5>>/own/file sleep infinity' &"
    assert box.outside(["sh", "-c", f"{start} while ! [ -s /own/pid ]; do :; done"]).success
    return box.outside(["cat", "/own/pid"]).stdout.strip()


@pytest.mark.parametrize("how", sorted(WRITES))
def test_nothing_outside_the_workspace_can_be_written(box, victim, how: str) -> None:
    script = f"VICTIM={victim}; {WRITES[how]}"
    digest = "find /own -printf '%p %m %l %s\\n' | sort; md5sum /own/file"
    box.outside(["touch", "/own/gone"])
    before = box.outside(["sh", "-c", digest]).stdout
    done = box.inside_sh(script)
    assert not done.success, done.stdout
    assert box.outside(["sh", "-c", digest]).stdout == before
    assert box.outside(["bash", "-c", script], cwd="/own").success or "link" in how


@pytest.mark.parametrize(
    "path", ["/", "/etc", "/usr/bin", HOME, "/dev", "/proc/sys/kernel", "/run"]
)
def test_no_folder_of_the_system_can_be_written(box, path: str) -> None:
    done = box.inside_sh(f"touch {path}/new")
    assert not done.success
    if box.agent == "root":
        assert "Read-only" in done.stderr or "No such file" in done.stderr


# Reaching other processes.

REACH = """
import ctypes, json, os, signal, sys
victim = int(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
ATTACH, DETACH, SEIZE = 16, 17, 0x4206

def called(name, *args):
    if getattr(libc, name)(*args) < 0:
        raise OSError(ctypes.get_errno(), name)

def attach():
    called("ptrace", ATTACH, victim, None, None)
    os.waitpid(victim, 0x40000000)
    called("ptrace", DETACH, victim, None, None)

def by_folder():
    folder = os.open(f"/proc/{victim}", os.O_DIRECTORY)
    signal.pidfd_send_signal(folder, 0)

def memory():
    start = open(f"/proc/{victim}/maps").read().split("-")[0]
    with open(f"/proc/{victim}/mem", "rb") as file:
        file.seek(int(start, 16)); file.read(1)

TRIED = {
    "signal": lambda: os.kill(victim, 0),
    "signal by its folder in /proc": by_folder,
    "trace": attach,
    "memory": memory,
    "environment": lambda: open(f"/proc/{victim}/environ").read(),
    "open files": lambda: os.readlink(f"/proc/{victim}/fd/0"),
    "reopening": lambda: os.open(f"/proc/{victim}/fd/0", os.O_RDONLY),
    "root": lambda: os.listdir(f"/proc/{victim}/root"),
    "working folder": lambda: os.listdir(f"/proc/{victim}/cwd"),
    "priority": lambda: os.setpriority(os.PRIO_PROCESS, victim, 5),
    "limits": lambda: __import__("resource").prlimit(victim, 3),
    "namespaces": lambda: os.readlink(f"/proc/{victim}/ns/mnt"),
}

def tried(what):
    try:
        what()
    except OSError as error:
        return error.strerror or str(error)
    return "done"

print(json.dumps({name: tried(what) for name, what in TRIED.items()}))
"""


def test_a_process_outside_can_be_neither_signalled_nor_traced_nor_read(box, victim) -> None:
    refused = json.loads(box.inside("python3", "-c", REACH, victim).stdout)
    assert [name for name, said in refused.items() if said == "done"] == []
    if box.agent == "agent" or _traces(box):
        done = json.loads(box.outside(["python3", "-c", REACH, victim]).stdout)
        assert {said for name, said in done.items() if name != "trace"} == {"done"}, done


def _traces(box: Container) -> bool:
    """Whether root may look into a process of root in this container at all."""
    return box.outside(["ls", "/proc/1/root"]).success


def test_killing_everything_kills_nothing_outside_and_the_agent_can_go_on(box, victim) -> None:
    box.inside_sh(f"kill -9 1; kill -9 {victim}; pkill -9 sleep; kill -9 -1")
    assert box.outside(["kill", "-0", victim]).success
    assert box.inside("true").success


def test_the_first_process_it_sees_can_be_neither_traced_nor_read(box) -> None:
    """Who ends it ends the agent."""
    tried = json.loads(box.inside("python3", "-c", REACH, "1").stdout)
    named = {name for name, said in tried.items() if said == "done"}
    assert named <= {"signal", "signal by its folder in /proc", "priority", "limits"}, tried
    assert box.inside("true").success


LURK = """
import os, sys, time
own = os.getpid()
end = time.monotonic() + float(sys.argv[1])
seen = set()
def reach(path, folder):
    try:
        os.close(os.open(path, os.O_WRONLY, dir_fd=folder))
        seen.add(f"wrote {path}")
    except OSError:
        pass
while time.monotonic() < end:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) in (1, own):
            continue
        for way in ("root", "cwd", *(f"fd/{number}" for number in range(3, 12))):
            try:
                folder = os.open(f"/proc/{pid}/{way}", os.O_RDONLY | os.O_DIRECTORY)
            except OSError:
                continue
            try:
                if way[0] != "f":
                    seen.add(way)
                elif os.fstat(folder).st_dev != os.stat("/proc").st_dev:  # not the agent's own
                    seen.add("another /proc")
                    for pid in filter(str.isdigit, os.listdir(folder)):
                        reach(os.path.join(pid, "root", "own", "file"), folder)
                reach("own/file", folder)
            finally:
                os.close(folder)
print("\\n".join(sorted(seen)))
"""


def test_a_command_that_begins_opens_no_way_out(box, victim) -> None:
    """A daemon of the agent's looks at all that its commands have open from their first moment."""
    lurk = 'setsid nohup python3 -c "$0" 5 >lurked 2>&1 &'
    assert box.inside("sh", "-c", lurk, LURK).success
    for _ in range(60):
        assert box.inside("true").success
    wait = "while pgrep -f '[O]_DIRECTORY' >/dev/null; do :; done; cat lurked"
    seen = box.inside("timeout", "60", "sh", "-c", wait).stdout.split("\n")
    assert "root" in seen, seen  # it was quick enough to see some
    assert [each for each in seen if "wrote" in each or "another" in each] == []


def test_no_process_of_others_is_seen(box, victim) -> None:
    """As the documentation says."""
    assert "sleep infinity" in box.outside(["ps", "axo", "args"]).stdout
    seen = box.inside_sh("ps axo args").stdout
    assert "ps axo args" in seen
    assert "sleep infinity" not in seen
    numbers = box.inside_sh("ls -d /proc/[0-9]*").stdout.split()
    assert len(numbers) < 10


def test_what_the_engine_hides_of_proc_is_hidden(box) -> None:
    look = (
        "for f in keys kcore timer_list; do [ ! -s /proc/$f ] || head -c 1 /proc/$f; done; echo ."
    )
    assert box.inside_sh(look).stdout == ".\n"
    assert not box.inside_sh("ls /proc/acpi/*").success
    assert not box.inside_sh("echo h >/proc/sysrq-trigger").success
    assert not box.inside_sh("echo 1 >/proc/sys/kernel/panic").success


def test_semaphores_and_shared_memory_of_others_are_not_seen(box) -> None:
    made = "import ctypes; print(ctypes.CDLL(None).shmget(4711, 4096, 0o1666))"
    found = "import ctypes; print(ctypes.CDLL(None).shmget(4711, 0, 0))"
    assert int(box.outside(["python3", "-c", made]).stdout) >= 0
    assert int(box.outside(["python3", "-c", found]).stdout) >= 0
    assert int(box.inside("python3", "-c", found).stdout) == -1


# Mounting, and more namespaces.

CALLS = """
import ctypes, errno, json, os
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": dict(mount=165, umount2=166, pivot_root=155, setns=308, clone=56, unshare=272),
    "aarch64": dict(mount=40, umount2=39, pivot_root=41, setns=268, clone=220, unshare=97),
}[os.uname().machine]
USER, MOUNT, PID, NET, TIME = 0x10000000, 0x20000, 0x20000000, 0x40000000, 0x80

def said(number, *args):
    child = os.fork()
    if not child:
        words = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_ulong(a) for a in args]
        got = libc.syscall(ctypes.c_long(number), *words)
        os._exit(0 if got >= 0 else ctypes.get_errno())
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return errno.errorcode.get(code, str(code))

found = {
    "tmpfs": said(NUMBERS["mount"], b"x", b"/mnt", b"tmpfs", 0, 0),
    "remount": said(NUMBERS["mount"], b"x", b"/", b"x", 32, 0),
    "remount bind": said(NUMBERS["mount"], b"x", b"/", b"x", 32 | 4096, 0),
    "umount": said(NUMBERS["umount2"], b"/app", 2),
    "pivot_root": said(NUMBERS["pivot_root"], b"/", b"/mnt"),
    "setns": said(NUMBERS["setns"], os.open("/proc/self/ns/mnt", 0), 0),
    "clone3": said(435, 0, 0),
    "open_tree": said(428, 0, b"/", 1),
    "fsopen": said(430, b"tmpfs", 0),
    "mount_setattr": said(442, 0, b"/", 0, 0, 0),
}
for name, flag in dict(user=USER, mount=MOUNT, pid=PID, net=NET).items():
    found[f"clone {name}"] = said(NUMBERS["clone"], USER | flag | 17, 0, 0, 0, 0)
    found[f"unshare {name}"] = said(NUMBERS["unshare"], USER | flag)
found["unshare time"] = said(NUMBERS["unshare"], USER | TIME)
print(json.dumps(found))
"""


def test_nothing_can_be_mounted_and_no_namespace_be_made_or_entered(box) -> None:
    done = box.inside("python3", "-c", CALLS)
    assert done.success, done.stderr
    refused = json.loads(done.stdout)
    assert refused.pop("clone3") == "ENOSYS"
    assert set(refused.values()) == {"EPERM"}, refused
    # Outside, where bubblewrap must start, a user namespace can be made, but with no network.
    outside = json.loads(box.outside(["python3", "-c", CALLS]).stdout)
    assert outside["clone user"] == outside["unshare user"] == "0"
    assert outside["clone net"] == outside["unshare net"] == "EPERM"


def test_it_has_no_powers_and_gains_none(box) -> None:
    done = box.inside_sh("grep -E '^(Cap|NoNewPrivs)' /proc/self/status")
    values = dict(line.split(":\t") for line in done.stdout.splitlines())
    assert values.pop("NoNewPrivs") == "1"
    assert len(values) == 5
    assert set(values.values()) == {"0" * 16}


def test_a_setuid_program_is_an_ordinary_one(box) -> None:
    prepare = "cp $(readlink -f $(command -v python3)) /opt/setuid && chmod 4755 /opt/setuid"
    assert box.outside(["sh", "-c", prepare], "root").success
    asked = ["/opt/setuid", "-c", "import os; print(*os.getresuid())"]
    assert box.outside(asked, "agent").stdout == "1000 0 0\n"
    own = "0" if box.agent == "root" else "1000"
    assert box.inside(*asked).stdout.split() == [own] * 3


# The engine's socket.

CONNECT = """
import socket, sys
socket.socket(socket.AF_UNIX).connect(sys.argv[1])
"""


@pytest.mark.parametrize("root", ["", "/proc/1/root", "/proc/self/root"])
@pytest.mark.parametrize("path", ["/run/docker.sock", "/var/run/docker.sock", DECOY])
def test_sockets_of_the_engine_and_of_the_host_are_out_of_reach(box, root: str, path: str) -> None:
    assert box.outside(["python3", "-c", CONNECT, path]).success
    done = box.inside("python3", "-c", CONNECT, root + path)
    assert not done.success
    assert "ConnectionRefusedError" in done.stderr or "PermissionError" in done.stderr


def test_sockets_of_the_container_s_own_services_are_reached(box) -> None:
    serve = (
        "import socket; s = socket.socket(socket.AF_UNIX); s.bind('/own/service.sock'); "
        "s.listen(); print('listens', flush=True); import time; time.sleep(60)"
    )
    start = f'rm -f /own/service.sock; setsid python3 -c "{serve}" >/own/out 2>&1 & '
    wait = "while ! grep -q listens /own/out; do :; done"
    assert box.outside(["bash", "-c", start + wait]).success
    assert box.inside("python3", "-c", CONNECT, "/own/service.sock").success


# How it ends.


def test_a_daemon_stays_and_the_next_command_can_use_and_end_it(box) -> None:
    serve = "setsid nohup python3 -m http.server -b 127.0.0.1 8123 >/tmp/log 2>&1 & echo $! >pid"
    assert box.inside_sh(serve).success
    ask = "until curl -sf -o /dev/null 127.0.0.1:8123; do kill -0 $(cat pid) || exit 9; done"
    assert box.inside_sh(ask).success
    assert "http.server" in box.inside_sh("tr '\\0' ' ' </proc/$(cat pid)/cmdline").stdout
    assert box.inside_sh("kill $(cat pid); while kill -0 $(cat pid); do :; done").success
    assert not box.inside_sh("curl -sf 127.0.0.1:8123").success


def test_orphans_are_collected(box) -> None:
    assert box.inside_sh("(sleep 0.01 & sleep 0.01 &); true").success
    wait = "while ps axo stat | grep -q Z; do :; done; echo none"
    assert box.inside_sh(f"timeout 20 sh -c '{wait}'").stdout == "none\n"


def test_a_command_dies_with_its_parent(box) -> None:
    assert box.wrapped is not None
    command = box.wrapped.command(["sh", "-c", "echo up >up; exec sleep 4712"])
    box.container.exec_run(command, user=box.agent, workdir=WORKSPACE, detach=True)
    wait = f"while ! [ -s {WORKSPACE}/up ]; do :; done; pgrep -f -o 'sleep 4712'"
    first = box.outside(["sh", "-c", wait], "root").stdout.strip()
    gone = f"kill -9 {first}; while pgrep -f 'sleep [4]712'; do :; done; echo gone"
    assert box.outside(["timeout", "20", "sh", "-c", gone], "root").stdout.endswith("gone\n")
