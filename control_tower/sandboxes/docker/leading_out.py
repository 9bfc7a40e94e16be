"""What in a compose file would lead an agent out of its container, or starve its host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from control_tower.sandboxes.docker.compose import Model
from control_tower.sandboxes.docker.unsupported import KNOWN

_HARMLESS = frozenset(
    (
        # What the engine gives every container.
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
        *("NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
        # What counts in the container's own namespaces only, or for its own processes.
        *("IPC_LOCK", "LEASE", "LINUX_IMMUTABLE", "NET_ADMIN", "NET_BROADCAST", "SYS_NICE"),
    )
)
_BY_COMPOSE = frozenset(
    # Not translated, but nothing of the host's.
    (
        *("blkio_config", "configs", "cpu_count", "cpu_percent", "extends", "isolation"),
        *("label_file", "links", "mac_address", "secrets", "storage_opt"),
    )
)
_ELSEWHERE = frozenset(("container_name", "ports", "privileged", "volumes_from"))
"""Refused in words of their own."""
_OWN = {"ipc": ("private", "none", "shareable"), "cgroup": ("private",)}
"""Values of other keys that give a container something of its own."""
_PARTS = (
    ("build", "entitlements"),
    ("build", "privileged"),
    ("deploy", "resources", "limits", "devices"),
    ("deploy", "resources", "reservations", "devices"),
)
_NOTHING: tuple[Any, ...] = (None, [], "", {}, False)
_LOGS = frozenset(("", "journald", "json-file", "local", "none"))
_PROFILES = frozenset(("apparmor", "seccomp"))


def leading_out(service: dict[str, Any]) -> Iterator[str]:
    """What is wrong with one service of a resolved model, each as what the service does."""
    if service.get("privileged"):
        yield "is privileged, so that one can leave its container; leave privileged out"
    for key in (*_unknown(service), *_parts(service), *_of_end_points(service)):
        yield f"sets {key}, which may lead out of its container; leave {key} out"
    options = [option for option in service.get("security_opt") or () if _opens(option)]
    added = [power for power in service.get("cap_add") or () if _bare(power) not in _HARMLESS]
    for given in (*options, *sorted(added)):
        yield f"has {given}, with which one can leave its container; leave it out"
    driver = (service.get("logging") or {}).get("driver") or ""
    if driver not in _LOGS:
        yield f"logs by '{driver}', which may send away what is written; use json-file or local"
    yield from _starving(service)


def files_of_the_host(model: Model, folder: Path) -> Iterator[str]:
    """Secrets and configs of a resolved model that are no files of the environment's own.

    Args:
        model: as `resolved` gives it.
        folder: that the compose file is in.
    """
    for kind in ("secrets", "configs"):
        for name, entry in (model.get(kind) or {}).items():
            file = (entry or {}).get("file")
            if file is None:
                continue
            path = (folder / file).resolve()
            if not (path.is_file() and path.is_relative_to(folder.resolve())):
                yield f"'{name}' in {kind} is no file in the folder of the compose file: {file}"


def _unknown(service: dict[str, Any]) -> Iterator[str]:
    """Keys that are not known to stay in a container, those of compose's future among them."""
    for key, value in service.items():
        if key in KNOWN | _BY_COMPOSE | _ELSEWHERE or key.startswith("x-"):
            continue
        if value not in _NOTHING and value not in _OWN.get(key, ()):
            yield key


def _parts(service: dict[str, Any]) -> Iterator[str]:
    for path in _PARTS:
        value: Any = service
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value not in _NOTHING:
            yield ".".join(path)


def _of_end_points(service: dict[str, Any]) -> Iterator[str]:
    for network, settings in (service.get("networks") or {}).items():
        if (settings or {}).get("driver_opts"):  # they can switch IPv6 on
            yield f"networks.{network}.driver_opts"


def _opens(option: str) -> bool:
    """Whether a security option takes away more than it gives."""
    kind, _, value = option.replace(":", "=", 1).partition("=")
    if kind in _PROFILES:
        return value.strip().lower() == "unconfined"
    return not (kind == "no-new-privileges" or (kind == "label" and value != "disable"))


def _starving(service: dict[str, Any]) -> Iterator[str]:
    limits = ((service.get("deploy") or {}).get("resources") or {}).get("limits") or {}
    for limit in (service.get("pids_limit"), limits.get("pids")):
        if limit is not None and int(limit) < 1:
            yield f"has a limit of {limit} processes, which is none; give 1 or more"
    if service.get("oom_kill_disable") or int(service.get("oom_score_adj") or 0) < 0:
        yield (
            "puts its host's processes before its own where memory is short; leave "
            "oom_kill_disable and a negative oom_score_adj out"
        )


def _bare(power: object) -> str:
    return str(power).upper().removeprefix("CAP_")
