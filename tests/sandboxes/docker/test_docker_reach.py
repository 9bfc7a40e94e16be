"""The networks of a sample, from what a compose file and a run say; needs no engine."""

from __future__ import annotations

from typing import Any

import pytest

from control_tower.sandboxes.docker.compose import Model
from control_tower.sandboxes.docker.reach import (
    BRIDGE_NAME,
    NO_ADDRESS,
    Reach,
    is_guarded,
    lets_out,
    networks_needed,
    with_reach,
)
from control_tower.sandboxes.errors import EnvironmentRefused

CLOSED = {
    "driver": "bridge",
    "internal": True,
    "enable_ipv6": False,
    "driver_opts": {NO_ADDRESS: "true"},
}


def alone(**settings: Any) -> Model:
    agent = {"image": "x", "networks": {"default": {"aliases": ["api.test"]}}, **settings}
    return {"services": {"default": agent}, "networks": {"default": {"name": "p_default"}}}


def pair(**settings: Any) -> Model:
    return {
        "services": {
            "default": {"image": "x", "networks": {"default": None}, **settings},
            "db": {"image": "y", "networks": {"default": {"aliases": ["store"]}, "back": None}},
        },
        "networks": {"default": None, "back": {"driver": "macvlan", "labels": {"a": "b"}}},
    }


def made(model: Model, *, internet: bool = False, withheld: bool = True, **asked: bool) -> Any:
    return with_reach(
        model,
        internet=internet,
        reach=Reach(**asked),
        bridges="ctabcde",
        addresses_withheld=withheld,
    )


def networks_of(model: Any, service: str = "default") -> list[str]:
    return list(model["services"][service].get("networks") or {})


def test_a_lone_agent_without_internet_has_no_network() -> None:
    model = made(alone())
    assert model["services"]["default"]["network_mode"] == "none"
    assert "networks" not in model["services"]["default"]
    assert "networks" not in model
    assert (networks_needed(model), is_guarded(model), lets_out(model)) == (0, False, False)


def test_a_lone_agent_with_internet_has_an_egress_and_keeps_its_names() -> None:
    model = made(alone(), internet=True)
    assert model["services"]["default"]["networks"] == {"egress": {"aliases": ["api.test"]}}
    assert list(model["networks"]) == ["egress"]
    assert "internal" not in model["networks"]["egress"]
    assert "dns" not in model["services"]["default"]
    assert (networks_needed(model), is_guarded(model), lets_out(model)) == (1, True, True)


def test_siblings_are_on_networks_that_lead_nowhere() -> None:
    model = made(pair())
    assert model["networks"] == {"default": CLOSED, "back": {**CLOSED, "labels": {"a": "b"}}}
    assert networks_of(model) == ["default"]
    assert networks_of(model, "db") == ["default", "back"]
    assert (networks_needed(model), is_guarded(model), lets_out(model)) == (2, False, False)


def test_only_the_agent_is_on_the_egress() -> None:
    model = made(pair(), internet=True)
    assert networks_of(model) == ["default", "egress"]
    assert networks_of(model, "db") == ["default", "back"]
    assert model["networks"]["default"]["internal"] is True


def test_the_egress_takes_no_network_s_name() -> None:
    model = pair()
    model["networks"]["egress"] = None
    model["services"]["db"]["networks"]["egress"] = None
    out = made(model, internet=True)
    assert networks_of(out) == ["default", "egress-out"]
    assert out["networks"]["egress"]["internal"] is True


def test_no_internet_takes_the_egress_away() -> None:
    assert made(pair(), internet=True, no_internet=True) == made(pair())
    assert made(alone(), internet=True, no_internet=True) == made(alone())


def test_no_intranet_takes_the_siblings_away_and_leaves_them_each_other() -> None:
    model = made(pair(), internet=True, no_intranet=True)
    assert networks_of(model) == ["egress"]
    assert networks_of(model, "db") == ["default", "back"]
    closed = made(pair(), no_intranet=True)
    assert closed["services"]["default"]["network_mode"] == "none"
    assert networks_of(closed, "db") == ["default", "back"]


def test_both_together_isolate() -> None:
    model = made(pair(), internet=True, no_internet=True, no_intranet=True)
    assert model["services"]["default"]["network_mode"] == "none"
    assert not lets_out(model)


def test_a_network_that_nobody_is_on_is_not_made() -> None:
    model = pair()
    model["services"]["db"]["networks"] = {"back": None}
    assert list(made(model, no_intranet=True)["networks"]) == ["back"]


def test_network_control_adds_one_power_and_takes_none() -> None:
    model = made(pair(cap_add=["CHOWN"]), network_control=True)
    agent = model["services"]["default"]
    assert agent["cap_add"] == ["CHOWN", "NET_ADMIN"]
    assert networks_of(model) == ["default"]
    assert "cap_add" not in model["services"]["db"]
    assert "cap_drop" not in agent


@pytest.mark.parametrize(
    "settings",
    [
        {"cap_add": ["NET_ADMIN"]},
        {"cap_add": ["CAP_NET_RAW"]},
        {"cap_add": ["cap_sys_admin"]},
        {"sysctls": {"net.ipv6.conf.all.disable_ipv6": "0"}},
        {"sysctls": {"net/ipv6/conf/all/disable_ipv6": "0"}},
    ],
)
def test_who_can_reach_the_bridge_s_own_address_is_guarded_against(
    settings: dict[str, Any],
) -> None:
    model = made(pair(**settings))
    assert is_guarded(model)
    names = [network["driver_opts"][BRIDGE_NAME] for network in model["networks"].values()]
    assert names == ["ctabcde", "ctabcde"]


def test_all_bridges_are_guarded_where_the_engine_gives_them_addresses() -> None:
    assert is_guarded(made(pair(), withheld=False))


def test_without_a_guard_nobody_makes_frames_of_their_own() -> None:
    model = made(pair(cap_drop=["CHOWN"]))
    dropped = [service["cap_drop"] for service in model["services"].values()]
    assert dropped == [["CHOWN", "NET_RAW"], ["NET_RAW"]]
    assert "cap_drop" not in made(alone())["services"]["default"], "it has nobody to send them to"


def test_who_has_no_internet_asks_nobody_outside_for_names() -> None:
    model = made(pair(dns=["9.9.9.9"], dns_search=["corp.test"]))
    agent, db = model["services"]["default"], model["services"]["db"]
    assert (agent["dns"], agent["dns_search"]) == (["127.0.0.1"], ["corp.test"])
    assert (db["dns"], db["dns_search"]) == (["127.0.0.1"], ["."])
    with_internet = made(pair(dns=["9.9.9.9"]), internet=True)
    assert with_internet["services"]["default"]["dns"] == ["9.9.9.9"]
    assert with_internet["services"]["db"]["dns"] == ["127.0.0.1"]


def test_a_resolver_in_the_container_itself_stays() -> None:
    model = made(pair(dns=["127.0.0.53", "9.9.9.9"]))
    assert model["services"]["default"]["dns"] == ["127.0.0.53"]


def test_a_side_car_has_the_agent_s_reach_and_no_network_of_its_own() -> None:
    model = pair()
    model["services"]["car"] = {"image": "z", "network_mode": "service:default"}
    out = made(model, internet=True)
    assert out["services"]["car"] == {"image": "z", "network_mode": "service:default"}
    assert networks_of(out) == ["default", "egress"]


def test_an_agent_behind_a_sibling_gets_out_where_that_one_is() -> None:
    model = pair()
    model["services"]["default"] = {"image": "x", "network_mode": "service:db"}
    out = made(model, internet=True)
    assert networks_of(out, "db") == ["default", "back", "egress"]
    assert "dns" not in out["services"]["db"]


def test_siblings_in_the_agent_s_network_cannot_be_cut_off() -> None:
    model = pair()
    model["services"]["car"] = {"image": "z", "network_mode": "service:default"}
    with pytest.raises(EnvironmentRefused, match="'car' has one network with the agent"):
        made(model, no_intranet=True)


@pytest.mark.parametrize("mode", ["host", "bridge", "container:x"])
def test_other_people_s_networks_are_refused(mode: str) -> None:
    model = pair()
    model["services"]["db"] = {"image": "y", "network_mode": mode}
    with pytest.raises(EnvironmentRefused, match=f"'db' has network_mode '{mode}'"):
        made(model, internet=True)


@pytest.mark.parametrize("mode", ["service:default", "service:nobody"])
def test_a_network_mode_that_leads_nowhere_is_refused(mode: str) -> None:
    model = pair()
    model["services"]["default"] = {"image": "x", "network_mode": mode}
    with pytest.raises(EnvironmentRefused, match="leads to no service with a network"):
        made(model)


def test_an_agent_that_its_author_gave_no_network_gets_none() -> None:
    model = pair()
    model["services"]["default"] = {"image": "x", "network_mode": "none"}
    assert not lets_out(made(model, internet=True))


def test_the_model_itself_is_left_alone() -> None:
    model = pair(dns=["9.9.9.9"])
    before = repr(model)
    made(model, internet=True, network_control=True)
    assert repr(model) == before
