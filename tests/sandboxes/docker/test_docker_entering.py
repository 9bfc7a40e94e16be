"""Processes as bubblewrap makes them when it enters a pid namespace, with moments stretched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from control_tower.sandboxes.docker.bubblewrap_files import FILTER
from control_tower.sandboxes.docker.entering import becoming, entering

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="bubblewrap gives a capability")

BUBBLEWRAP = """#!{python}
import ctypes, os, sys, time
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
how = sys.argv[sys.argv.index("--how") + 1]
info = int(sys.argv[sys.argv.index("--info-fd") + 1])
command = sys.argv[sys.argv.index("--") + 1 :]
if how == "fails":
    sys.exit(7)
hears, tells = os.pipe()
between = os.fork()
if not between:
    os.close(info)
    child = os.fork()
    if not child:
        os.environ["BETWEEN"] = str(os.getppid())
        os.execv(command[0], command)
    os.write(tells, b"%d" % child)
    os.closerange(0, 100)
    time.sleep(0.5)  # on a busy machine it has closed its files, but not ended
    os._exit(0)
os.close(tells)
child = int(os.read(hears, 20))
os.write(info, b'{{\\n    "child-pid": %d,\\n    "net-namespace": 1\\n}}\\n' % child)
os.close(info)
if how == "dies":
    os._exit(9)
if how != "collects late":
    os.waitpid(between, 0)
while True:
    try:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    except ChildProcessError:  # not yet
        time.sleep(0.01)
"""


def begun(
    folder: Path, command: str, how: str = "", *, first: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """A command whose process in between takes its time to end.

    Args:
        folder: for a program in place of bubblewrap.
        command: shell's.
        how: bubblewrap behaves.
        first: program that bubblewrap runs in place of the second shell, and that becomes it.
    """
    bubblewrap = folder / "bwrap"
    bubblewrap.write_text(BUBBLEWRAP.format(python=sys.executable))
    bubblewrap.chmod(0o755)
    shell, option, script, _ = entering(os.getpid())
    return subprocess.run(
        [
            *(
                shell,
                option,
                script.replace(FILTER, "/dev/null"),
                str(bubblewrap),
            ),
            *("--how", how, "--", *first, *becoming(), "sh", "-c", command),
        ],
        input="in\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_command_outlives_the_process_in_between(tmp_path: Path) -> None:
    done = begun(tmp_path, "while kill -0 $BETWEEN 2>/dev/null; do :; done; cat; exit 3")
    assert (done.stdout, done.stderr, done.returncode) == ("in\n", "", 3)


def test_a_process_in_between_that_is_not_collected_keeps_nobody(tmp_path: Path) -> None:
    command = "grep State /proc/$BETWEEN/status"
    assert "Z (zombie)" in begun(tmp_path, command, "collects late").stdout


def test_a_command_has_no_files_open_that_are_not_its_own(tmp_path: Path) -> None:
    """The filter is left to bubblewrap, which closes it."""
    said = begun(tmp_path, "readlink /proc/self/fd/*").stdout.split()
    assert [each.partition(":")[0] for each in said] == ["pipe"] * 3 + ["/dev/null"]


def test_a_command_waits_with_nothing_open_but_pipes(tmp_path: Path) -> None:
    """And the namespaces to join, which bubblewrap has joined when it runs the command."""
    look = "sh -c 'ls -l /proc/$PPID/fd' | sed -n 's/.*-> //p'"
    done = begun(tmp_path, "true", first=("/bin/sh", "-c", f'{look}; exec "$@"', "sh"))
    kinds = {each.partition(":")[0] for each in done.stdout.split()}
    assert kinds == {"pipe", "user", "pid", "/dev/null"}, done.stdout


def test_a_command_whose_bubblewrap_has_died_is_not_run(tmp_path: Path) -> None:
    assert begun(tmp_path, "echo alive", "dies").stdout == ""


def test_a_bubblewrap_that_fails_hangs_nobody(tmp_path: Path) -> None:
    assert begun(tmp_path, "exit 0", "fails").returncode == 7
