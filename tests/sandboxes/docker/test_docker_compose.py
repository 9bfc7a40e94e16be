"""An environment's compose file as samples run it; needs no engine."""

from __future__ import annotations

from typing import Any

import pytest

from control_tower.sandboxes.docker.compose import Model, adapted, networks_of
from control_tower.sandboxes.docker.engine import ENVIRONMENT_LABEL, OWNER_LABEL

ALONE: Model = {
    "name": "resolving",
    "services": {"default": {"build": {"context": "/x"}, "networks": {"default": None}}},
    "networks": {"default": {"name": "resolving_default"}},
}
PAIR: Model = {
    "name": "resolving",
    "services": {
        "default": {"build": {"context": "/x"}, "networks": {"default": None}},
        "db": {"image": "postgres:16", "networks": {"default": None}, "labels": {"mine": "1"}},
    },
    "networks": {"default": {"name": "resolving_default", "ipam": {}}},
    "volumes": {"data": None},
}


def runs(model: Model, *, internet: bool = False) -> Any:
    return adapted(
        model,
        images={"default": "built:1"},
        internet=internet,
        owner="host:/run",
        environment="mini",
        start_intervals=True,
    )


def test_a_lone_service_without_internet_has_no_network() -> None:
    made = runs(ALONE)
    assert made["services"]["default"]["network_mode"] == "none"
    assert "networks" not in made["services"]["default"]
    assert "networks" not in made
    assert not networks_of(ALONE, internet=False)


def test_several_services_share_a_network_that_leads_nowhere() -> None:
    made = runs(PAIR)
    assert made["networks"]["default"]["internal"] is True
    assert made["services"]["db"]["networks"] == {"default": None}
    assert networks_of(PAIR, internet=False) == 1


@pytest.mark.parametrize("model", [ALONE, PAIR])
def test_with_internet_networks_are_as_written(model: Model) -> None:
    made = runs(model, internet=True)
    assert "internal" not in made["networks"]["default"]
    assert "network_mode" not in made["services"]["default"]
    assert networks_of(model, internet=True) == 1


def test_built_services_have_their_image_and_are_not_built_again() -> None:
    made = runs(PAIR)
    assert made["services"]["default"]["image"] == "built:1"
    assert "build" not in made["services"]["default"]
    assert made["services"]["db"]["image"] == "postgres:16"


def test_everything_carries_our_labels_beside_its_own() -> None:
    made = runs(PAIR)
    ours = {OWNER_LABEL: "host:/run", ENVIRONMENT_LABEL: "mini"}
    assert made["services"]["db"]["labels"] == {"mine": "1", **ours}
    for kind in ("networks", "volumes"):
        for entry in made[kind].values():
            assert entry["labels"] == ours


def test_no_name_is_shared_by_samples() -> None:
    made = runs(PAIR)
    assert "name" not in made
    assert "name" not in made["networks"]["default"]


def test_the_agent_s_container_is_root_s_and_processes_are_limited() -> None:
    services = runs(PAIR)["services"]
    assert services["default"]["user"] == "0:0"
    assert services["default"]["init"] is True
    assert "user" not in services["db"]
    assert all(service["pids_limit"] == 4096 for service in services.values())


def test_the_model_itself_is_left_alone() -> None:
    before = repr(PAIR)
    runs(PAIR)
    assert repr(PAIR) == before
