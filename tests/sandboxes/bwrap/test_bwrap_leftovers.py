"""What a killed run leaves: its processes die with it, and a next run removes the rest."""

from __future__ import annotations

import signal
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest

from control_tower.sandboxes.bwrap.holder import HolderRecord, RecordedProcess
from control_tower.sandboxes.bwrap.processes import look_up
from control_tower.sandboxes.leftovers import remove_leftovers

OWNER = """
import subprocess, sys, time
from control_tower.sandboxes.bwrap.config import BwrapConfig
from control_tower.sandboxes.bwrap.holder import Holder

source, marker, how = sys.argv[1:]
holder = Holder.create(BwrapConfig(source=source))
holder.prepare()
holder.launch()
holder.wait_ready()

def shell(script):
    command = holder.entrance.command(["sh", "-c", script], marker="", cwd="/app", env={})
    inner = (holder.entrance.inner,)
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, pass_fds=inner)

shell(f"setsid sleep {marker} >/dev/null 2>&1 &").communicate()
shell("mkdir -p a/b; chmod 000 a").communicate()
if how == "busy":
    shell(f"trap '' TERM; echo; sleep {marker}; :").stdout.readline()
if how == "stopped":
    # The entering process stops itself when its child has stopped.
    entering = shell(f"echo $$; exec sleep {marker}")
    inner = entering.stdout.readline()
    shell(f"kill -STOP {inner}").communicate()
    while open(f"/proc/{entering.pid}/stat").read().split(") ")[1][0] != "T":
        time.sleep(0.02)
print("up", flush=True)
sys.stdin.readline()
print(shell("echo well").communicate()[0], flush=True)
holder.stop()
"""


@pytest.fixture
def owner(code):
    """Starts processes that own a sandbox: `owner(marker, "idle")`."""
    started = []

    def start(marker, how):
        command = [sys.executable, "-c", OWNER, str(code), marker, how]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout.readline() == "up\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("how", ["idle", "busy", "stopped"])
def test_a_killed_owner(owner, how, state, host_processes, gone):
    marker = f"6{uuid.uuid4().int % 10**8}"
    process = owner(marker, how)
    assert len(host_processes(f"sleep\0{marker}")) >= 1
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert gone(f"sleep\0{marker}") and gone(marker)
    removed = remove_leftovers()
    assert any(str(process.pid) in line and "directory" in line for line in removed)
    assert not list(state.glob("run-*"))
    assert remove_leftovers() == []


def test_a_living_owner_is_left_alone(owner, opened, state):
    process = owner("61234", "idle")

    async def body():
        async with opened() as box:
            assert remove_leftovers() == []
            assert (await box.exec(["./run.sh"])).stdout == "ran\n"

    anyio.run(body)
    out, _ = process.communicate("\n")
    assert out.strip() == "well" and process.returncode == 0
    assert remove_leftovers() == []


def dead_owner(state, name):
    path = state / f"run-{name}"
    (path / "box" / "workspace").mkdir(parents=True)
    (path / "lock").write_text("1")
    return path


def test_two_at_once_share_the_work(state):
    made = [dead_owner(state, str(n)) for n in range(20)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: remove_leftovers(), range(4)))
    lines = [line for result in results for line in result]
    assert len(lines) == 20
    assert all(any(f"{path} " in line for line in lines) for path in made)


def test_other_things_in_the_directory_stay(state):
    for name in ("work", "run-without-lock"):
        (state / name).mkdir(parents=True)
    (state / "work" / "lock").write_text("")
    assert remove_leftovers() == []
    assert (state / "work" / "lock").exists()


def test_a_recorded_process_is_killed_unless_its_pid_is_anothers_now(state):
    with subprocess.Popen(["sleep", "60"]) as mine, subprocess.Popen(["sleep", "60"]) as other:
        box = dead_owner(state, "x") / "box"
        started = [look_up(process.pid).start for process in (mine, other)]
        HolderRecord(
            monitor=RecordedProcess(pid=mine.pid, start=started[0]),
            first=RecordedProcess(pid=other.pid, start=started[1] - 1),
        ).write(box)
        removed = remove_leftovers()
        assert mine.wait() == -signal.SIGKILL
        assert other.poll() is None
        other.kill()
    assert len(removed) == 2 and str(mine.pid) in removed[0]


def test_what_was_about_to_become_a_sandbox_is_ended(state):
    sandbox = dead_owner(state, "run-killed") / "0123456789ab"
    sandbox.mkdir()
    script = "import sys; print('up', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, f"{sandbox}/home"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as starting:
        assert starting.stdout.readline() == b"up\n"
        remove_leftovers()
        assert starting.wait(30) == -signal.SIGKILL
    assert not sandbox.exists()
