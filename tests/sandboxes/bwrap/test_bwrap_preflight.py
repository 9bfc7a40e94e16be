"""Refusals before a run: one line each, with the cause and the way out."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys

import pytest

from control_tower.sandboxes.bwrap import preflight as module
from control_tower.sandboxes.bwrap.preflight import preflight
from control_tower.sandboxes.errors import SandboxRefused


def refusal(programs=None) -> str:
    with pytest.raises(SandboxRefused) as caught:
        preflight(programs or {})
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_fit_machine_passes_and_nothing_is_left(state):
    preflight({"ledger": ("sh", "cat")})
    assert not [
        path for path in state.glob("run-*/*") if path.name not in ("lock", ".lock", "tools")
    ]


def test_another_system(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    assert refusal() == "bwrap needs Linux, and this is darwin; use docker"


def test_an_old_kernel(monkeypatch):
    monkeypatch.setattr(platform, "release", lambda: "5.4.0-42-generic")
    assert "5.14 or newer" in refusal() and "5.4.0" in refusal()


def test_no_bwrap(monkeypatch):
    monkeypatch.setattr(module, "find_bwrap", lambda: None)
    assert "no bwrap binary" in refusal() and "bubblewrap" in refusal()


def test_no_nsenter(monkeypatch):
    found = module.find_tool
    monkeypatch.setattr(module, "find_tool", lambda n: None if n == "nsenter" else found(n))
    assert refusal() == "nsenter not found; install the system's package util-linux"


def test_a_missing_program_is_named_with_its_environment():
    said = refusal({"ledger": ("sh", "no-such-thing"), "other": ("sh",)})
    assert "environment 'ledger' needs no-such-thing" in said and "other" not in said


def test_a_program_is_looked_up_where_the_sandbox_looks(tmp_path, monkeypatch):
    tool = tmp_path / "my-tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert shutil.which("my-tool") == str(tool)
    assert "needs my-tool" in refusal({"ledger": ("my-tool",)})


BLOCKED = """
from control_tower.sandboxes.bwrap.preflight import preflight
from control_tower.sandboxes.errors import SandboxRefused
try:
    preflight({})
except SandboxRefused as refusal:
    print(refusal)
"""


def test_blocked_user_namespaces():
    """Tried for real, in a user namespace that allows no more of them."""
    drop = "setpriv --ambient-caps=-all --inh-caps=-all"
    script = f'echo 0 >/proc/sys/user/max_user_namespaces && exec {drop} "$0" -c "$1"'
    enter = ["unshare", "--user", "--map-user=1234", "--map-group=1234", "--keep-caps"]
    command = [*enter, "sh", "-c", script, sys.executable, BLOCKED]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "set sysctl user.max_user_namespaces to 10000" in done.stdout, done.stderr
    assert len(done.stdout.splitlines()) == 1


def test_too_few_files_may_be_open():
    few = "import os, resource\nopen_ones = len(os.listdir('/proc/self/fd'))\n"
    few += "resource.setrlimit(resource.RLIMIT_NOFILE, (open_ones + 8, open_ones + 8))\n"
    script = BLOCKED.replace("try:", few + "try:")
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "raise the limit: ulimit -n" in done.stdout, done.stderr
    assert len(done.stdout.splitlines()) == 1


def test_root_without_another_user_to_drop_to():
    enter = ["unshare", "--user", "--map-root-user", sys.executable, "-c", BLOCKED]
    done = subprocess.run(enter, capture_output=True, text=True, check=False)
    assert "run as an ordinary user" in done.stdout, done.stderr


def test_it_needs_no_inspect():
    code = (
        "import sys, control_tower.sandboxes.bwrap.preflight, "
        "control_tower.sandboxes.bwrap.leftovers, control_tower.sandboxes.bwrap.config; "
        "print([m for m in sys.modules if m.startswith('inspect_ai')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
