"""What leads out of a container; needs no engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from control_tower.sandboxes.docker.leading_out import files_of_the_host, leading_out


@pytest.mark.parametrize(
    "power", ["ALL", "all", "SYS_ADMIN", "CAP_SYS_ADMIN", "sys_admin", "cap_bpf", "SYS_PTRACE", "?"]
)
def test_powers_over_the_host_are_refused_however_they_are_spelt(power: str) -> None:
    assert list(leading_out({"cap_add": [power, "CHOWN"]})) == [
        f"has {power}, with which one can leave its container; leave it out"
    ]


@pytest.mark.parametrize("power", ["NET_ADMIN", "cap_net_admin", "IPC_LOCK", "CAP_SYS_NICE"])
def test_powers_over_its_own_are_not(power: str) -> None:
    assert list(leading_out({"cap_add": [power]})) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cgroup", "host"),
        ("cgroup_parent", "/"),
        ("cpu_rt_runtime", 95000),
        ("credential_spec", {"file": "x"}),
        ("device_cgroup_rules", ["c *:* rmw"]),
        ("devices", [{"source": "/dev/sda"}]),
        ("external_links", ["other"]),
        ("gpus", [{"count": -1}]),
        ("ipc", "host"),
        ("key_of_the_future", 1),
        ("models", {"m": None}),
        ("ipc", "container:x"),
        ("pid", "host"),
        ("post_start", [{"command": ["true"], "privileged": True}]),
        ("pre_stop", [{"command": ["true"]}]),
        ("provider", {"type": "x"}),
        ("runtime", "other"),
        ("use_api_socket", True),
        ("userns_mode", "host"),
        ("uts", "host"),
    ],
)
def test_keys_that_lead_out_are_refused(key: str, value: Any) -> None:
    assert list(leading_out({key: value})) == [
        f"sets {key}, which may lead out of its container; leave {key} out"
    ]
    assert list(leading_out({key: None})) == []


@pytest.mark.parametrize(
    ("service", "key"),
    [
        ({"build": {"context": ".", "privileged": True}}, "build.privileged"),
        ({"build": {"entitlements": ["security.insecure"]}}, "build.entitlements"),
        (
            {"deploy": {"resources": {"reservations": {"devices": [{"count": 1}]}}}},
            "deploy.resources.reservations.devices",
        ),
        ({"networks": {"a": {"driver_opts": {"x": "y"}}, "b": None}}, "networks.a.driver_opts"),
    ],
)
def test_so_are_parts_that_do(service: dict[str, Any], key: str) -> None:
    assert list(leading_out(service)) == [
        f"sets {key}, which may lead out of its container; leave {key} out"
    ]


@pytest.mark.parametrize(
    "option",
    [
        *("seccomp=unconfined", "seccomp: unconfined", "apparmor:unconfined", "label=disable"),
        *("label:disable", "systempaths=unconfined", "writable-cgroups=true"),
    ],
)
def test_security_is_not_taken_away(option: str) -> None:
    assert list(leading_out({"security_opt": [option]})) == [
        f"has {option}, with which one can leave its container; leave it out"
    ]


@pytest.mark.parametrize(
    "option",
    [
        "no-new-privileges",
        "no-new-privileges:true",
        "seccomp=builtin",
        "apparmor=own",
        "label=type:x",
    ],
)
def test_security_may_be_added(option: str) -> None:
    assert list(leading_out({"security_opt": [option]})) == []


def test_logs_go_nowhere_else() -> None:
    [words] = leading_out({"logging": {"driver": "syslog", "options": {"syslog-address": "x"}}})
    assert words.startswith("logs by 'syslog', which may send away what is written; use json-file")
    for driver in ("json-file", "local", "none", "journald", ""):
        assert list(leading_out({"logging": {"driver": driver}})) == []


@pytest.mark.parametrize("service", [{"oom_score_adj": -1}, {"oom_kill_disable": True}])
def test_the_host_s_memory_comes_first(service: dict[str, Any]) -> None:
    [words] = leading_out(service)
    assert words.startswith("puts its host's processes before its own where memory is short")
    assert list(leading_out({"oom_score_adj": 100, "oom_kill_disable": False})) == []


def test_what_compose_alone_translates_and_extensions_are_not_refused() -> None:
    harmless = {"links": ["db"], "secrets": [{"source": "s"}], "x-more": 1, "blkio_config": {}}
    assert list(leading_out(harmless)) == []


@pytest.mark.parametrize("service", [{"ipc": "private"}, {"cgroup": "private"}, {"pids_limit": 1}])
def test_what_is_a_container_s_own_is_not(service: dict[str, Any]) -> None:
    assert list(leading_out(service)) == []


@pytest.mark.parametrize("limit", [0, -1, "-7"])
def test_no_limit_of_processes_is_refused(limit: Any) -> None:
    words = [f"has a limit of {limit} processes, which is none; give 1 or more"]
    assert list(leading_out({"pids_limit": limit})) == words
    assert list(leading_out({"deploy": {"resources": {"limits": {"pids": limit}}}})) == words


@pytest.mark.parametrize("kind", ["secrets", "configs"])
def test_files_are_the_environment_s_own(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "codebase"
    folder.mkdir()
    (folder / "own").write_text("text")
    (tmp_path / "beside").write_text("text")
    (folder / "link").symlink_to(tmp_path / "beside")
    model: dict[str, Any] = {kind: {"a": {"file": str(folder / "own")}, "b": {"content": "x"}}}
    assert list(files_of_the_host(model, folder)) == []
    for foreign in (tmp_path / "beside", folder / "link", folder, folder / "none"):
        model[kind]["a"] = {"file": str(foreign)}
        assert list(files_of_the_host(model, folder)) == [
            f"'a' in {kind} is no file in the folder of the compose file: {foreign}"
        ]
