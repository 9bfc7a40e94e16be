"""What the Engine API is asked for, from a resolved compose file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.compose_models import MAXIMAL, MAXIMAL_SERVICE, Model

from control_tower.sandboxes.docker.blueprint import (
    Blueprint,
    Dependency,
    EndPoint,
    ServicePlan,
    blueprint_of,
)
from control_tower.sandboxes.docker.healthchecks import Grace


def plan(more: Model | None = None, **service: Any) -> ServicePlan:
    """The plan of a service `default` beside `db` and `job`."""
    others = {"db": {"image": "y"}, "job": {"image": "z"}}
    model = {"services": {"default": {"image": "x", **service}, **others}, **(more or {})}
    made = blueprint_of(model, "mini")
    return next(plan for plan in made.services if plan.name == "default")


def host(**service: Any) -> Any:
    return plan(**service).body["HostConfig"]


def test_the_process_of_a_container() -> None:
    keys = ("command", "entrypoint", "user", "working_dir", "hostname", "domainname", "tty")
    more = ("stdin_open", "stop_signal", "stop_grace_period", "labels", "environment", "expose")
    body = plan(**{key: MAXIMAL_SERVICE[key] for key in (*keys, *more)}).body
    assert body == {
        "Image": "x",
        "Cmd": ["echo $HOME; sleep 5"],
        "Entrypoint": ["/bin/sh", "-c"],
        "User": "1000:1000",
        "WorkingDir": "/app",
        "Hostname": "hh",
        "Domainname": "example.org",
        "Tty": True,
        "OpenStdin": True,
        "StopSignal": "SIGINT",
        "StopTimeout": 90,
        "Labels": {"x": "y"},
        "Env": ["A=x$y", "B", "C="],
        "ExposedPorts": {"80/tcp": {}, "53/udp": {}},
        "HostConfig": {},
    }


def test_what_a_container_may_and_sees() -> None:
    keys = ("cap_add", "cap_drop", "read_only", "init", "dns", "dns_search", "dns_opt", "tmpfs")
    more = ("extra_hosts", "group_add", "sysctls", "security_opt", "annotations")
    assert host(**{key: MAXIMAL_SERVICE[key] for key in (*keys, *more)}) == {
        "CapAdd": ["NET_BIND_SERVICE"],
        "CapDrop": ["ALL"],
        "ReadonlyRootfs": True,
        "Init": True,
        "Dns": ["192.0.2.1"],
        "DnsSearch": ["a.example"],
        "DnsOptions": ["ndots:1"],
        "Tmpfs": {"/run": "size=10m,mode=700", "/scratch": ""},
        "ExtraHosts": ["a:192.0.2.9", "six:2001:db8::1"],
        "GroupAdd": ["100", "mail"],
        "Sysctls": {"net.core.somaxconn": "10"},
        "SecurityOpt": ["no-new-privileges:true"],
        "Annotations": {"note": "x"},
    }


def test_limits() -> None:
    keys = ("cpu_period", "cpu_quota", "cpu_shares", "cpus", "cpuset", "mem_limit", "ulimits")
    memory = ("mem_reservation", "mem_swappiness", "memswap_limit", "oom_kill_disable", "shm_size")
    more = ("oom_score_adj", "pids_limit")
    assert host(**{key: MAXIMAL_SERVICE[key] for key in (*keys, *memory, *more)}) == {
        "CpuPeriod": 100000,
        "CpuQuota": 50000,
        "CpuShares": 100,
        "NanoCpus": 1_500_000_000,
        "CpusetCpus": "0",
        "Memory": 512 * 2**20,
        "MemoryReservation": 100 * 2**20,
        "MemorySwappiness": 10,
        "MemorySwap": 2**30,
        "OomKillDisable": True,
        "OomScoreAdj": 100,
        "ShmSize": 64 * 2**20,
        "PidsLimit": 100,
        "Ulimits": [
            {"Name": "nofile", "Soft": 10, "Hard": 20},
            {"Name": "nproc", "Soft": 40, "Hard": 40},
        ],
    }


def test_limits_and_restarts_of_the_part_deploy() -> None:
    assert host(deploy=MAXIMAL_SERVICE["deploy"]) == {
        "NanoCpus": 500_000_000,
        "Memory": 50 * 2**20,
        "PidsLimit": 10,
        "MemoryReservation": 20 * 2**20,
        "RestartPolicy": {"Name": "on-failure", "MaximumRetryCount": 3},
    }


@pytest.mark.parametrize(
    ("restart", "policy"),
    [
        ("no", {"Name": "no"}),
        ("always", {"Name": "always"}),
        ("on-failure", {"Name": "on-failure"}),
        ("on-failure:3", {"Name": "on-failure", "MaximumRetryCount": 3}),
    ],
)
def test_restart_policies(restart: str, policy: Any) -> None:
    assert host(restart=restart)["RestartPolicy"] == policy


def test_logging_can_be_off() -> None:
    assert host(logging={"driver": "none"})["LogConfig"] == {"Type": "none", "Config": {}}


@pytest.mark.parametrize(
    ("check", "made"),
    [
        (
            MAXIMAL_SERVICE["healthcheck"],
            {
                "Test": ["CMD-SHELL", "curl $X"],
                "Interval": 10**9,
                "Timeout": 5 * 10**8,
                "StartPeriod": 60 * 10**9,
                "StartInterval": 2 * 10**9,
                "Retries": 3,
            },
        ),
        ({"test": ["CMD", "true"]}, {"Test": ["CMD", "true"]}),
        ({"test": "exit 0"}, {"Test": ["CMD-SHELL", "exit 0"]}),
        ({"test": ["NONE"]}, {"Test": ["NONE"]}),
        ({"disable": True}, {"Test": ["NONE"]}),
    ],
)
def test_health_checks(check: Model, made: Model) -> None:
    assert plan(healthcheck=check).body["Healthcheck"] == made


def test_a_slow_health_check_is_waited_for_until_it_says_no() -> None:
    slow = plan(healthcheck={"test": "x", "interval": "1m", "timeout": "1m", "retries": 9})
    assert slow.patience == 20 * 60
    assert plan().patience == 120


def test_a_check_that_is_asked_often_calms_down_where_the_engine_can() -> None:
    check = {"test": "x", "interval": "1s", "timeout": "1s", "retries": 4}
    model = {"services": {"default": {"image": "x", "healthcheck": check}}}
    (calm,) = blueprint_of(model, "mini").services
    assert calm.body["Healthcheck"]["Interval"] == 15 * 10**9
    assert calm.body["Healthcheck"]["StartInterval"] == 10**9
    assert calm.grace == Grace(period=0, failures=4)
    (plain,) = blueprint_of(model, "mini", start_intervals=False).services
    assert plain.body["Healthcheck"]["Interval"] == 10**9
    assert plain.grace is None


def test_mounts() -> None:
    found = plan(
        more={
            "volumes": {"data": {"driver_opts": {"size": 1}, "labels": {"a": "b"}}, "other": None}
        },
        volumes=MAXIMAL_SERVICE["volumes"][:4],
    )
    assert found.volumes == ("data", "data")
    assert found.body["HostConfig"]["Mounts"] == [
        {"Type": "volume", "Source": "data", "Target": "/data"},
        {
            "Type": "volume",
            "Source": "data",
            "Target": "/again",
            "ReadOnly": True,
            "VolumeOptions": {"NoCopy": True},
        },
        {"Type": "tmpfs", "Target": "/t", "TmpfsOptions": {"SizeBytes": 2**20, "Mode": 0o700}},
        {"Type": "volume", "Target": "/without-a-name"},
    ]


def test_only_networks_and_volumes_that_are_used_are_made() -> None:
    model = {
        "services": {
            "default": {
                "image": "x",
                "networks": {"used": None},
                "volumes": [{"type": "volume", "source": "data", "target": "/d"}],
            }
        },
        "networks": {"used": MAXIMAL["networks"]["a"], "unused": {}},
        "volumes": {"data": MAXIMAL["volumes"]["data"], "unused": {}},
    }
    made = blueprint_of(model, "mini")
    assert made.networks == {
        "used": {
            "Driver": "bridge",
            "Internal": True,
            "EnableIPv6": True,
            "Options": {"x": "1"},
            "Labels": {"l": "m"},
        }
    }
    assert made.volumes == {
        "data": {"Driver": "local", "DriverOpts": {"type": "tmpfs"}, "Labels": {"a": "b"}}
    }


def test_a_service_is_known_by_its_name_and_aliases_in_networks_by_priority() -> None:
    found = plan(
        more={"networks": {"a": {}, "b": {}, "c": {}}},
        networks={
            "b": None,
            "a": {"aliases": ["foo"]},
            "c": {"priority": 10},
        },
    )
    assert found.networks == (
        EndPoint(network="c", settings={"Aliases": ["default"]}),
        EndPoint(network="a", settings={"Aliases": ["default", "foo"]}),
        EndPoint(network="b", settings={"Aliases": ["default"]}),
    )


def test_a_network_shared_with_another_service_is_a_dependency() -> None:
    found = plan(network_mode="service:db")
    assert found.joins == "db"
    assert found.networks == ()
    assert found.depends_on == (Dependency(service="db"),)


def test_a_service_may_have_no_network() -> None:
    found = plan(network_mode="none")
    assert (found.networks, found.joins, found.depends_on) == ((), None, ())


def test_services_come_after_those_that_they_depend_on() -> None:
    model = {
        "services": {
            "a": {"image": "x", "depends_on": {"b": {"condition": "service_healthy"}}},
            "b": {"image": "x", "network_mode": "service:c"},
            "c": {"image": "x", "depends_on": {"d": None}},
            "d": {"image": "x"},
        }
    }
    made = blueprint_of(model, "mini")
    assert [plan.name for plan in made.services] == ["d", "c", "b", "a"]
    assert made.waited_for("b") == {"service_healthy"}
    assert made.waited_for("d") == {"service_started"}
    assert made.waited_for("a") == set()


def test_a_service_is_optional_if_nobody_requires_it() -> None:
    def made(*required: bool) -> Blueprint:
        waiting = {
            f"w{number}": {"image": "x", "depends_on": {"db": {"required": one}}}
            for number, one in enumerate(required)
        }
        return blueprint_of({"services": {"db": {"image": "y"}, **waiting}}, "mini")

    assert made(False, False).is_optional("db")
    assert not made(False, True).is_optional("db")
    assert not made().is_optional("db")


def test_a_seccomp_profile_is_handed_over_itself(tmp_path: Path) -> None:
    file = tmp_path / "a:b.json"
    file.write_text('{\n "defaultAction": "SCMP_ACT_ALLOW"\n}')
    options = [f"seccomp={file}", "seccomp=builtin", "apparmor:some"]
    assert host(security_opt=options)["SecurityOpt"] == [
        'seccomp={"defaultAction": "SCMP_ACT_ALLOW"}',
        "seccomp=builtin",
        "apparmor:some",
    ]


def test_a_blueprint_survives_its_file() -> None:
    model = {**MAXIMAL, "services": {**MAXIMAL["services"]}}
    made = blueprint_of(model, "mini")
    assert Blueprint.model_validate(json.loads(made.model_dump_json())) == made
    assert {plan.name for plan in made.services} == {"default", "db", "job"}
