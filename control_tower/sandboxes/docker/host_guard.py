"""Keeping agents from the host of the engine, where their networks alone cannot.

An agent with internet is on a bridge over which its packets leave, so the host has an address on
it; and who may use raw sockets or change interfaces reaches the IPv6 address that every bridge has.
Both are closed by rules on the engine's host, for bridges whose names begin as this process's do.

`host_rules` makes them. A file in the owner's directory says that there are some: it keeps the
directory until they are gone, so that those of a killed run are removed by the next, and so are
those of a run that could not remove them itself.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
from pathlib import Path
from typing import Any

from control_tower.sandboxes.docker.compose import Model
from control_tower.sandboxes.docker.engine import engine, owner_value
from control_tower.sandboxes.docker.errand import ErrandFailed
from control_tower.sandboxes.docker.host_rules import (
    StillNeeded,
    add_rules,
    prefix_of,
    remove_rules,
)
from control_tower.sandboxes.docker.marker import mark
from control_tower.sandboxes.docker.ownerless import lift_ownerless
from control_tower.sandboxes.docker.reach import is_guarded, lets_out
from control_tower.sandboxes.errors import SandboxRefused
from control_tower.sandboxes.owners import OUTSTANDING, OWNER

REACHABLE = "CT_HOST_REACHABLE"
"""The variable that, set to 1, lets agents run whom the host cannot be kept from."""

_FILE = f"host_guard{OUTSTANDING}"
"""In an owner's directory: the image with which its rules were made."""
_UNMADE = "host_guard.unmade"
"""Beside it: why the rules are not, or not all, made."""

_log = logging.getLogger("control_tower.sandboxes")


def bridge_prefix(owner: Path) -> str:
    """What the names of an owner's guarded bridges begin with; 7 characters."""
    return prefix_of(owner_value(owner))


def guard_host(model: Model, image: str, owner: Path) -> None:
    """Make the rules that samples of a model need, if it needs them and they are not there yet.

    They are removed when this process ends.

    Args:
        model: as `with_reach` gives it.
        image: one that the engine has and that has the program `chroot`.
        owner: directory of the process that runs the samples.

    Raises:
        SandboxRefused: they cannot be made, and the user did not say that this is all right.
    """
    if not is_guarded(model):
        return
    problem = _unguardable() if lets_out(model) else None
    problem = problem or _guarded(owner, image)
    if problem is None:
        return
    if os.environ.get(REACHABLE) != "1":
        raise SandboxRefused(
            f"the host cannot be kept from agents with internet or network control: {problem}; "
            f"give neither, or, where the host has nothing to hide, set {REACHABLE}=1"
        )
    _log.warning("agents can reach services of the host: %s", problem)


def has_guard(owner: Path) -> bool:
    """Whether there may be rules of an owner."""
    return (owner / _FILE).exists()


def guard_images(root: Path) -> list[str]:
    """The images with which owners in a state directory made their rules; none if nobody did."""
    found: list[str] = []
    for file in root.glob(f"{OWNER}*/{_FILE}"):
        with contextlib.suppress(OSError):  # its owner has lifted them meanwhile
            found.append(file.read_text())
    return [image for image in dict.fromkeys(found) if image]


def lift_guard(owner: Path) -> bool:
    """Remove an owner's rules, if there are any; false while there are bridges that need them.

    Raises:
        ErrandFailed: the rules cannot be removed.
        docker.errors.DockerException: the engine does not answer.
    """
    file = owner / _FILE
    if not file.exists():
        return True
    value = owner_value(owner)
    images = [image for image in (file.read_text(), *guard_images(owner.parent)) if image]
    try:
        remove_rules(value, images, by=value)
    except StillNeeded:
        return False
    file.unlink(missing_ok=True)
    return True


def _guarded(owner: Path, image: str) -> str | None:
    """What went wrong, or None; the rules are made once."""
    from docker.errors import DockerException, ImageNotFound
    from requests.exceptions import RequestException

    file, unmade = owner / _FILE, owner / _UNMADE
    if unmade.exists():
        return unmade.read_text()
    if file.exists():
        return None
    mark(owner)
    unmade.write_text("an earlier try was interrupted")
    file.write_text(image)  # before there is something to remove
    atexit.register(_lift_at_exit, owner, os.getpid())
    try:
        owners = add_rules(owner_value(owner), image)
    except (ErrandFailed, DockerException, RequestException, OSError) as error:
        unmade.write_text(_unmade(error))
        if isinstance(error, ImageNotFound):
            file.unlink()  # nothing was begun
        else:
            _lift(owner)  # it may have made some of them
        if not file.exists():
            unmade.unlink()
        return _unmade(error)
    unmade.unlink()
    lift_ownerless(owners, [image], by=owner, stays=_log.warning)
    return None


def _unmade(error: Exception) -> str:
    return f"the rules of its firewall cannot be made ({' '.join(str(error).split())})"


def _lift_at_exit(owner: Path, pid: int) -> None:
    if os.getpid() != pid:
        return
    # Whoever showed warnings in the run listens no more.
    shown = logging.StreamHandler()
    shown.setFormatter(logging.Formatter("control tower: %(message)s"))
    _log.addHandler(shown)
    _lift(owner)
    _log.removeHandler(shown)


def _lift(owner: Path) -> None:
    """As `lift_guard`; what stays is said."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        reason = None if lift_guard(owner) else str(StillNeeded())
    except (ErrandFailed, DockerException, RequestException, OSError) as error:
        reason = str(error)
    if reason:
        _log.warning("rules of the host's firewall are left to the next run: %s", reason)


def _unguardable() -> str | None:
    """Why rules of the engine's own network do not keep this host from an agent with internet."""
    with engine() as client:
        info: dict[str, Any] = client.info()
    if any("rootless" in option for option in info.get("SecurityOptions") or ()):
        return "the engine is a rootless one, whose packets leave as this user's own"
    if "Docker Desktop" in str(info.get("OperatingSystem")):
        return "Docker Desktop runs the engine in a virtual machine, and this host is outside of it"
    return None
