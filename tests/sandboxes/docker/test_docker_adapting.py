"""An environment's compose file as samples run it; needs no engine."""

from __future__ import annotations

from typing import Any

from control_tower.sandboxes.docker.adapting import adapted
from control_tower.sandboxes.docker.compose import Model
from control_tower.sandboxes.docker.engine import ENVIRONMENT_LABEL, OWNER_LABEL

PAIR: Model = {
    "name": "resolving",
    "x-inspect": {"anything": 1},
    "services": {
        "default": {"build": {"context": "/x"}, "networks": {"default": None}, "user": "agent"},
        "db": {
            "image": "postgres:16",
            "networks": {"default": None},
            "labels": {"mine": "1"},
            "healthcheck": {"test": ["CMD", "true"], "interval": "1s"},
        },
    },
    "networks": {"default": {"name": "resolving_default", "ipam": {}}},
    "volumes": {"data": None},
}


def runs(model: Model) -> Any:
    return adapted(
        model,
        images={"default": "built:1"},
        owner="host:/run",
        environment="mini",
    )


def test_built_services_have_their_image_and_are_not_built_again() -> None:
    made = runs(PAIR)
    assert made["services"]["default"]["image"] == "built:1"
    assert "build" not in made["services"]["default"]
    assert made["services"]["db"]["image"] == "postgres:16"
    assert {service["pull_policy"] for service in made["services"].values()} == {"never"}


def test_everything_carries_our_labels_beside_its_own() -> None:
    made = runs(PAIR)
    ours = {OWNER_LABEL: "host:/run", ENVIRONMENT_LABEL: "mini"}
    assert made["services"]["db"]["labels"] == {"mine": "1", **ours}
    for kind in ("networks", "volumes"):
        assert made[kind]
        for entry in made[kind].values():
            assert entry["labels"] == ours


def test_no_name_is_shared_by_samples_and_no_extension_is_passed_on() -> None:
    made = runs(PAIR)
    assert "name" not in made
    assert "name" not in made["networks"]["default"]
    assert "x-inspect" not in made


def test_the_agent_s_container_is_root_s_and_processes_are_limited() -> None:
    services = runs(PAIR)["services"]
    assert services["default"]["user"] == "0:0"
    assert services["default"]["init"] is True
    assert "user" not in services["db"]
    assert all(service["pids_limit"] == 1024 for service in services.values())


def test_others_come_before_samples_unless_an_environment_says_otherwise() -> None:
    services = {**PAIR["services"], "job": {"image": "x", "cpu_shares": 2048, "pids_limit": 9}}
    made = runs({**PAIR, "services": services})["services"]
    assert [made[name]["cpu_shares"] for name in ("default", "db", "job")] == [256, 256, 2048]
    assert made["job"]["pids_limit"] == 9


def test_processes_are_limited_where_the_other_limits_are() -> None:
    limits = {"limits": {"memory": "1000"}}
    service = {"build": {"context": "/x"}, "deploy": {"resources": limits}}
    made = runs({"services": {"default": service}})["services"]["default"]
    assert made["deploy"]["resources"]["limits"] == {"memory": "1000", "pids": 1024}
    assert "pids_limit" not in made


def test_health_checks_stay_as_they_are_for_compose() -> None:
    check = runs(PAIR)["services"]["db"]["healthcheck"]
    assert check == PAIR["services"]["db"]["healthcheck"]


def test_the_model_itself_is_left_alone() -> None:
    before = repr(PAIR)
    runs(PAIR)
    assert repr(PAIR) == before
