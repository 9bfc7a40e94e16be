"""Compose files that are refused; needs no engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from control_tower.sandboxes.docker.unfit import refuse_unfit
from control_tower.sandboxes.errors import EnvironmentRefused


@pytest.mark.parametrize(
    ("service", "more", "words"),
    [
        ("db", {}, "there is no service 'default', which is the agent's"),
        ("default", {"container_name": "x"}, "service 'default' has a container_name"),
        ("default", {"ports": [{"target": 80, "published": "8080"}]}, "publishes ports"),
        ("default", {"privileged": True}, "has privileged, which leads out of its container"),
        ("default", {"pid": "host"}, "has pid, which leads out"),
        ("default", {"cap_add": ["NET_RAW", "SYS_ADMIN"]}, "has SYS_ADMIN, with which one can"),
        ("default", {"security_opt": ["seccomp:unconfined"]}, "has seccomp:unconfined, with which"),
        ("default", {"volumes_from": ["container:x"]}, "mounts a folder of the host"),
        ("default", {"volumes": [{"type": "bind", "source": "/x"}]}, "mounts a folder of the host"),
        ("default", {"network_mode": "host"}, "has network_mode 'host', and environment.yaml says"),
    ],
)
def test_what_would_collide_or_lead_out_is_refused(
    service: str, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(EnvironmentRefused) as caught:
        refuse_unfit(Path("compose.yml"), {"services": {service: more}}, internet=False)
    assert str(caught.value).startswith("compose.yml: ")
    assert words in str(caught.value)


def test_a_volume_that_is_a_folder_of_the_host_is_refused() -> None:
    options = {"type": "none", "o": "bind", "device": "/srv"}
    model = {"services": {"default": {}}, "volumes": {"data": {"driver_opts": options}}}
    with pytest.raises(EnvironmentRefused, match="'data' in volumes is a folder of the host"):
        refuse_unfit(Path("compose.yml"), model, internet=True)


@pytest.mark.parametrize("kind", ["networks", "volumes"])
def test_what_all_samples_would_share_is_refused(kind: str) -> None:
    model = {"services": {"default": {}}, kind: {"shared": {"external": True}}}
    with pytest.raises(EnvironmentRefused, match=f"'shared' in {kind} is external"):
        refuse_unfit(Path("compose.yml"), model, internet=True)


def test_what_each_sample_can_have_is_not() -> None:
    networks = {"default": {"name": "resolving_default", "ipam": {}}}
    plain = {"services": {"default": {}, "db": {"volumes": [{"type": "volume"}]}}}
    refuse_unfit(Path("compose.yml"), {**plain, "networks": networks}, internet=False)
    odd = {"services": {"default": {"network_mode": "service:db", "privileged": False}}}
    refuse_unfit(Path("compose.yml"), odd, internet=False)
    host = {"services": {"default": {"network_mode": "host"}}}
    refuse_unfit(Path("compose.yml"), host, internet=True)
