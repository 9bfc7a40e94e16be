"""The seccomp profile of a container in which bubblewrap can work.

Docker's default profile lets nobody make a user namespace. Ours is the same but for the few calls
that bubblewrap makes to set one up. What it runs there gets a filter of its own that takes them
away again (`closing`), so an agent may do less than in an ordinary container, not more.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from control_tower.sandboxes.docker.compose import AGENTS_SERVICE, Model

Rule = dict[str, Any]
"""One entry of a profile's `syscalls`, as the Docker engine reads it."""

_ALWAYS = Path(__file__).with_name("syscalls.txt")

_WITH_CAPABILITY = {
    "CAP_PERFMON": ("perf_event_open",),
    "CAP_SYSLOG": ("syslog",),
    "CAP_SYS_BOOT": ("reboot",),
    "CAP_SYS_CHROOT": ("chroot",),
    "CAP_SYS_NICE": ("get_mempolicy", "mbind", "set_mempolicy", "set_mempolicy_home_node"),
    "CAP_SYS_PACCT": ("acct",),
    "CAP_SYS_TIME": ("settimeofday", "stime", "clock_settime", "clock_settime64"),
    "CAP_SYS_TTY_CONFIG": ("vhangup",),
}
"""What Docker allows with a capability, of those that an environment may ask for."""

_PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)
_AF_VSOCK = 40
_ENOSYS = 38

_FOR_BUBBLEWRAP = ("mount", "umount2", "pivot_root", "setns")
_NEW_NETWORK = 0x4000_0000
"""CLONE_NEWNET. Bubblewrap is not asked for one, and it is the namespace that opens most of the
kernel to an attack; so nobody may make one."""


@functools.cache
def profile() -> str:
    """The profile in JSON: Docker's default, and what bubblewrap needs."""
    rules = [
        _allow(*_unconditional()),
        *(_allow(*names, caps=cap) for cap, names in _WITH_CAPABILITY.items()),
        _allow("socket", args=[_argument("NE", _AF_VSOCK)]),
        *(_allow("personality", args=[_argument("EQ", value)]) for value in _PERSONALITIES),
        _allow(*_FOR_BUBBLEWRAP),
        # Docker's own rule for `clone` has the flags of all namespaces; `unshare` has none.
        _allow("clone", "unshare", args=[_argument("MASKED_EQ", _NEW_NETWORK)]),
        # Its flags cannot be looked at. Programs take this answer to mean `clone`.
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
    ]
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "defaultErrnoRet": 1,
            "archMap": [
                _architecture("X86_64", "X86", "X32"),
                _architecture("AARCH64", "ARM"),
            ],
            "syscalls": rules,
        }
    )


def with_isolation(model: Model, *, profile_file: Path, engine: Sequence[str]) -> Model:
    """The model with a container of the agent's in which bubblewrap can work.

    A profile for seccomp or AppArmor that the compose file itself sets stays: if it is in the way,
    the start of a sample says so.

    Args:
        model: as `docker compose config` resolves it.
        profile_file: where our profile is written, for compose and for us to read.
        engine: what the engine says of its own (`SecurityOptions`), such as `name=apparmor`.
    """
    made = deepcopy(model)
    service = made["services"][AGENTS_SERVICE]
    options = list(service.get("security_opt") or ())
    kinds = {option.replace(":", "=", 1).partition("=")[0] for option in options}
    have = {part for option in engine for part in option.split(",")}
    if "seccomp" not in kinds and "name=seccomp" in have:
        profile_file.write_text(profile(), encoding="utf-8")
        options.append(f"seccomp={profile_file}")
    if "apparmor" not in kinds and "name=apparmor" in have:
        options.append("apparmor=unconfined")  # docker-default refuses every mount
    service["security_opt"] = options
    return made


def _unconditional() -> list[str]:
    lines = _ALWAYS.read_text(encoding="utf-8").splitlines()
    return [name for line in lines if not line.startswith("#") for name in line.split()]


def _allow(*names: str, args: list[Rule] | None = None, caps: str | None = None) -> Rule:
    rule: Rule = {"names": list(names), "action": "SCMP_ACT_ALLOW"}
    if args is not None:
        rule["args"] = args
    if caps is not None:
        rule["includes"] = {"caps": [caps]}
    return rule


def _argument(comparison: str, value: int) -> Rule:
    """A condition on a call's first argument; `MASKED_EQ`: none of the bits of `value` is set."""
    return {"index": 0, "value": value, "valueTwo": 0, "op": f"SCMP_CMP_{comparison}"}


def _architecture(name: str, *kinds: str) -> Rule:
    return {
        "architecture": f"SCMP_ARCH_{name}",
        "subArchitectures": [f"SCMP_ARCH_{kind}" for kind in kinds],
    }
