"""Compose files that are refused; needs no engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from control_tower.sandboxes.docker.compose import Model
from control_tower.sandboxes.docker.unfit import refuse_unfit
from control_tower.sandboxes.errors import EnvironmentRefused

BIND = {"type": "bind", "source": "/x", "target": "/y"}


@pytest.mark.parametrize(
    ("service", "more", "words"),
    [
        ("db", {}, "there is no service 'default', which is the agent's"),
        ("default", {"container_name": "x"}, "service 'default' has a container_name"),
        ("default", {"ports": [{"target": 80, "published": "8080"}]}, "publishes ports"),
        ("default", {"privileged": True}, "service 'default' is privileged, so that one can leave"),
        ("default", {"pid": "host"}, "sets pid, which may lead out of its container; leave"),
        ("default", {"cap_add": ["NET_RAW", "SYS_ADMIN"]}, "has SYS_ADMIN, with which one can"),
        ("default", {"scale": 0}, "has 0 containers, so that there is none"),
        ("default", {"deploy": {"replicas": 0}}, "has 0 containers, so that there is none"),
        ("default", {"stop_grace_period": "-5s"}, "cannot be used: '-5s' is no duration"),
        ("default", {"mem_limit": "-5"}, "cannot be used: '-5' is no size"),
        ("default", {"security_opt": ["seccomp:/none/such"]}, "No such file or directory: '/none/"),
        ("default", {"security_opt": ["seccomp:unconfined"]}, "has seccomp:unconfined, with which"),
        ("default", {"volumes_from": ["container:x"]}, "mounts a folder of the host"),
        ("default", {"volumes": [BIND]}, "mounts a folder of the host"),
    ],
)
def test_what_would_collide_or_lead_out_is_refused(
    service: str, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(EnvironmentRefused) as caught:
        refuse_unfit(Path("compose.yml"), {"services": {service: more}})
    assert str(caught.value).startswith("compose.yml: ")
    assert words in str(caught.value)


def test_a_volume_that_is_a_folder_of_the_host_is_refused() -> None:
    options = {"type": "none", "o": "bind", "device": "/srv"}
    model = {"services": {"default": {}}, "volumes": {"data": {"driver_opts": options}}}
    with pytest.raises(EnvironmentRefused, match="'data' in volumes is a folder of the host"):
        refuse_unfit(Path("compose.yml"), model)


@pytest.mark.parametrize("key", ["ipv4_address", "ipv6_address"])
def test_an_address_that_no_sample_s_network_would_have_is_refused(key: str) -> None:
    networks = {"back": {key: "an address"}, "front": {"aliases": ["db"]}, "side": None}
    model = {"services": {"default": {}, "db": {"networks": networks}}}
    with pytest.raises(EnvironmentRefused) as caught:
        refuse_unfit(Path("compose.yml"), model)
    assert str(caught.value) == (
        f"compose.yml: service 'db' has {key} in network 'back', whose addresses differ from "
        "sample to sample; leave it out, and reach the service by its name"
    )


def test_only_isolation_needs_a_root_that_it_can_write_and_only_the_agent_s() -> None:
    model: Model = {"services": {"default": {"read_only": True}, "db": {}}}
    refuse_unfit(Path("compose.yml"), model)
    with pytest.raises(EnvironmentRefused) as caught:
        refuse_unfit(Path("compose.yml"), model, isolation=True)
    assert str(caught.value).startswith("compose.yml: service 'default' has read_only, so that iso")
    model["services"] = {"default": {}, "db": {"read_only": True}}
    refuse_unfit(Path("compose.yml"), model, isolation=True)


@pytest.mark.parametrize("kind", ["networks", "volumes"])
def test_what_all_samples_would_share_is_refused(kind: str) -> None:
    model = {"services": {"default": {}}, kind: {"shared": {"external": True}}}
    with pytest.raises(EnvironmentRefused, match=f"'shared' in {kind} is external"):
        refuse_unfit(Path("compose.yml"), model)


def test_what_each_sample_can_have_is_not() -> None:
    networks = {"default": {"name": "resolving_default", "ipam": {}}}
    plain = {"services": {"default": {}, "db": {"volumes": [{"type": "volume", "target": "/x"}]}}}
    refuse_unfit(Path("compose.yml"), {**plain, "networks": networks})
    odd = {"services": {"default": {"network_mode": "service:db", "privileged": False}}}
    refuse_unfit(Path("compose.yml"), odd)


@pytest.mark.parametrize(
    ("mode", "whose"),
    [
        ("host", "the host's own network"),
        ("bridge", "a network that all samples would share"),
        ("container:other", "a network that all samples would share"),
    ],
)
def test_networks_that_are_not_a_sample_s_own_are_refused(mode: str, whose: str) -> None:
    model = {"services": {"default": {"network_mode": mode}}}
    with pytest.raises(EnvironmentRefused) as caught:
        refuse_unfit(Path("compose.yml"), model)
    assert str(caught.value) == (
        f"compose.yml: service 'default' has network_mode '{mode}', {whose}; leave network_mode out"
    )
