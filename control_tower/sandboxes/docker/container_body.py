"""From a service of a compose file to the body with which the Engine API creates its container."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from control_tower.sandboxes.docker.amounts import nano_cpus, nanoseconds, seconds, size

Settings = Mapping[str, Any]
Body = dict[str, Any]
_Rule = tuple[str, Callable[[Any], Any]]


def container_body(service: Settings) -> Body:
    """The body of `POST /containers/create`, but for networks and the names of volumes.

    A volume is named as in the compose file.

    Args:
        service: as `docker compose config` resolves it, its image named.

    Raises:
        ValueError: an amount is none.
        OSError: a seccomp profile cannot be read.
    """
    host = _translated(service, _OF_HOST)
    host |= _limits((service.get("deploy") or {}).get("resources") or {})
    if mounts := [_mount(volume) for volume in service.get("volumes") or ()]:
        host["Mounts"] = mounts
    restart = (service.get("deploy") or {}).get("restart_policy")
    if restart:
        host["RestartPolicy"] = _restart_policy(
            f"{restart.get('condition') or 'any'}:{restart.get('max_attempts') or 0}"
        )
    body = _translated(service, _OF_CONTAINER)
    if check := service.get("healthcheck"):
        body["Healthcheck"] = health_check(check)
    return {**body, "HostConfig": host}


def health_check(check: Settings) -> Body:
    """A health check as the Engine API takes it, times in nanoseconds."""
    if check.get("disable"):
        return {"Test": ["NONE"]}
    test = check.get("test")
    found: Body = {"Test": ["CMD-SHELL", test] if isinstance(test, str) else list(test or ())}
    for key, name in _HEALTH_TIMES.items():
        if check.get(key) is not None:
            found[name] = nanoseconds(check[key])
    if check.get("retries") is not None:
        found["Retries"] = int(check["retries"])
    return found


def _translated(service: Settings, rules: Mapping[str, _Rule]) -> Body:
    return {
        name: convert(service[key])
        for key, (name, convert) in rules.items()
        if service.get(key) is not None
    }


def _environment(variables: Settings) -> list[str]:
    # A name without a value takes the variable out of the image's.
    return [key if value is None else f"{key}={value}" for key, value in variables.items()]


def _hosts(entries: list[str]) -> list[str]:
    """Each as `name:address`; newer versions of compose write `name=address`."""
    pairs = [entry.split("=" if "=" in entry else ":", 1) for entry in entries]
    return [f"{name}:{address.strip('[]')}" for name, address in pairs]


def _tmpfs(entries: str | list[str]) -> dict[str, str]:
    found = [entries] if isinstance(entries, str) else entries
    return {path: options for path, _, options in (entry.partition(":") for entry in found)}


def _ulimits(limits: Settings) -> list[Body]:
    return [
        {"Name": name, "Soft": limit["soft"], "Hard": limit["hard"]}
        if isinstance(limit, Mapping)
        else {"Name": name, "Soft": int(limit), "Hard": int(limit)}
        for name, limit in limits.items()
    ]


def _restart_policy(text: str) -> Body:
    """From `on-failure:3`; compose knows `any` and `none` too."""
    name, _, attempts = text.partition(":")
    known = {"any": "always", "none": "no"}.get(name, name)
    policy: Body = {"Name": known}
    if known == "on-failure" and attempts:
        policy["MaximumRetryCount"] = int(attempts)
    return policy


def _exposed(ports: list[Any]) -> dict[str, Body]:
    return {port if "/" in port else f"{port}/tcp": {} for port in map(str, ports)}


def _logging(settings: Settings) -> Body:
    options = settings.get("options") or {}
    return {
        "Type": settings.get("driver") or "",
        "Config": {key: str(value) for key, value in options.items()},
    }


def _mount(volume: Settings) -> Body:
    kind = volume["type"]
    mount: Body = {"Type": kind, "Target": volume["target"]}
    if volume.get("source"):
        mount["Source"] = volume["source"]
    if volume.get("read_only"):
        mount["ReadOnly"] = True
    more = volume.get(kind) or {}
    if kind == "volume" and more.get("nocopy"):
        mount["VolumeOptions"] = {"NoCopy": True}
    if kind == "tmpfs":
        options = {"SizeBytes": size(more["size"])} if more.get("size") else {}
        mount["TmpfsOptions"] = options | ({"Mode": int(more["mode"])} if more.get("mode") else {})
    return mount


def _limits(resources: Settings) -> Body:
    """Of a service's part `deploy`; what compose ignores there, so do we."""
    limits, reserved = resources.get("limits") or {}, resources.get("reservations") or {}
    found: Body = {}
    if limits.get("cpus"):
        found["NanoCpus"] = nano_cpus(limits["cpus"])
    if limits.get("memory"):
        found["Memory"] = size(limits["memory"])
    if limits.get("pids"):
        found["PidsLimit"] = int(limits["pids"])
    if reserved.get("memory"):
        found["MemoryReservation"] = size(reserved["memory"])
    return found


def _security(options: list[str]) -> list[str]:
    """Security options; the engine takes a seccomp profile itself where compose takes a file."""
    return [_read(option) for option in options]


def _read(option: str) -> str:
    name, value = [*re.split("[:=]", option, maxsplit=1), ""][:2]
    if name != "seccomp" or value == "builtin":
        return option
    return f"seccomp={json.dumps(json.loads(Path(value).read_text(encoding='utf-8')))}"


def _whole_seconds(duration: Any) -> int:
    return max(1, round(seconds(duration)))


_HEALTH_TIMES = {
    "interval": "Interval",
    "timeout": "Timeout",
    "start_period": "StartPeriod",
    "start_interval": "StartInterval",
}
_OF_CONTAINER: dict[str, _Rule] = {
    "command": ("Cmd", list),
    "domainname": ("Domainname", str),
    "entrypoint": ("Entrypoint", list),
    "environment": ("Env", _environment),
    "expose": ("ExposedPorts", _exposed),
    "hostname": ("Hostname", str),
    "image": ("Image", str),
    "labels": ("Labels", dict),
    "stdin_open": ("OpenStdin", bool),
    "stop_grace_period": ("StopTimeout", _whole_seconds),
    "stop_signal": ("StopSignal", str),
    "tty": ("Tty", bool),
    "user": ("User", str),
    "working_dir": ("WorkingDir", str),
}
_OF_HOST: dict[str, _Rule] = {
    "annotations": ("Annotations", dict),
    "cap_add": ("CapAdd", list),
    "cap_drop": ("CapDrop", list),
    "cpu_period": ("CpuPeriod", int),
    "cpu_quota": ("CpuQuota", int),
    "cpu_shares": ("CpuShares", int),
    "cpus": ("NanoCpus", nano_cpus),
    "cpuset": ("CpusetCpus", str),
    "dns": ("Dns", list),
    "dns_opt": ("DnsOptions", list),
    "dns_search": ("DnsSearch", list),
    "extra_hosts": ("ExtraHosts", _hosts),
    "group_add": ("GroupAdd", lambda groups: [str(group) for group in groups]),
    "init": ("Init", bool),
    "logging": ("LogConfig", _logging),
    "mem_limit": ("Memory", size),
    "mem_reservation": ("MemoryReservation", size),
    "mem_swappiness": ("MemorySwappiness", int),
    "memswap_limit": ("MemorySwap", size),
    "oom_kill_disable": ("OomKillDisable", bool),
    "oom_score_adj": ("OomScoreAdj", int),
    "pids_limit": ("PidsLimit", int),
    "read_only": ("ReadonlyRootfs", bool),
    "restart": ("RestartPolicy", _restart_policy),
    "security_opt": ("SecurityOpt", _security),
    "shm_size": ("ShmSize", size),
    "sysctls": ("Sysctls", lambda given: {key: str(value) for key, value in given.items()}),
    "tmpfs": ("Tmpfs", _tmpfs),
    "ulimits": ("Ulimits", _ulimits),
}

TRANSLATED = frozenset((*_OF_CONTAINER, *_OF_HOST, "deploy", "healthcheck"))
"""Keys of a service that are in the body whole, or in parts that `unsupported` knows."""
