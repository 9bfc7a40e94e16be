"""What is not translated is named; nothing is dropped in silence."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from support.compose_models import MAXIMAL, MAXIMAL_SERVICE, Model

from control_tower.sandboxes.docker.blueprint import blueprint_of
from control_tower.sandboxes.docker.unsupported import unsupported

PLAIN: Model = {
    "services": {
        "default": {"image": "x", "command": None, "networks": {"default": None}},
        "db": {"image": "y", "deploy": {"replicas": 1, "placement": {}}, "x-mine": {"a": 1}},
    },
    "networks": {"default": {"driver": "bridge", "internal": True}},
    "volumes": {"data": None},
}

OF_COMPOSE_ALONE = {
    # Compose itself does nothing with these in a container that it creates.
    *(("attach",), ("build",), ("develop",), ("env_file",), ("profiles",), ("pull_policy",)),
    *(("deploy", key) for key in ("endpoint_mode", "labels", "mode", "placement")),
    *(("deploy", key) for key in ("rollback_config", "update_config")),
    ("deploy", "resources", "reservations", "cpus"),
    ("deploy", "restart_policy", "delay"),
    ("deploy", "restart_policy", "window"),
    ("depends_on", "db", "restart"),  # when a user updates one service
}
OF_THE_MODEL_ALONE = {
    ("name",),  # each sample has a name of its own
    ("secrets",),  # named where they are used
    ("configs",),
}
STRANGE_MOUNTS = (("volumes", 4), ("volumes", 5))
"""Their very types are named."""

# Of two that say the same, one covers the other: each is looked at alone.
COVERED = ("cpus", "mem_limit", "mem_reservation", "pids_limit", "restart")
HALVES = [
    {key: value for key, value in MAXIMAL_SERVICE.items() if key != "deploy"},
    {key: value for key, value in MAXIMAL_SERVICE.items() if key not in COVERED},
]

Path = tuple[Any, ...]


def leaves(value: Any, start: Path = ()) -> Iterator[Path]:
    """Where every single value is."""
    if isinstance(value, dict):
        items: Any = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        yield start
        return
    for key, inner in items:
        yield from leaves(inner, (*start, key))


def altered(model: Model, path: Path) -> Model:
    """The model with another value there."""
    made = deepcopy(model)
    at: Any = made
    for key in path[:-1]:
        at = at[key]
    value = at[path[-1]]
    if value is None:
        at[path[-1]] = {"some_key_of_the_future": 1}
    elif isinstance(value, bool):
        at[path[-1]] = not value
    elif isinstance(value, str) and not value.isdigit():
        at[path[-1]] = f"1{value}" if value[:1].isdigit() else f"{value}1"
    else:
        at[path[-1]] = int(value) + 1
    return made


def what_becomes_of(model: Model) -> Any:
    """What is made of a file, and what is named; of a broken one, that it breaks."""
    try:
        return unsupported(model), blueprint_of(model, "mini")
    except (KeyError, ValueError) as error:
        return repr(error)


def is_heeded(model: Model, path: Path) -> bool:
    """Whether it makes a difference what the value there is, or it is inside of what is named."""
    before = what_becomes_of(model)
    if what_becomes_of(altered(model, path)) != before:
        return True
    inside = path[2:] if path[0] in ("services", "networks", "volumes") else path
    named, _ = before
    for name in named:
        parts = name.split(": ")[-1].split(".")
        if parts[0] == inside[0] and parts[-1] in inside:
            return True
    return inside[:2] in STRANGE_MOUNTS


def under(path: Path, roots: set[Any]) -> bool:
    return any(path[: len(root)] == root for root in roots)


@pytest.mark.parametrize("service", HALVES, ids=["without deploy", "with deploy"])
def test_every_value_of_a_service_is_translated_or_named(service: Model) -> None:
    model = {**MAXIMAL, "services": {**MAXIMAL["services"], "default": service}}
    for path in leaves(service):
        if not under(path, OF_COMPOSE_ALONE):
            assert is_heeded(model, ("services", "default", *path)), path


def test_every_value_of_networks_and_volumes_is_translated_or_named() -> None:
    for path in leaves({key: MAXIMAL[key] for key in MAXIMAL if key != "services"}):
        if not under(path, OF_THE_MODEL_ALONE):
            assert is_heeded(MAXIMAL, path), path


def test_an_ordinary_file_has_nothing_that_would_need_compose() -> None:
    assert unsupported(PLAIN) == []


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("links", ["db"], "links"),
        ("secrets", [{"source": "s"}], "secrets"),
        ("scale", 2, "scale"),
        ("deploy", {"replicas": 3}, "deploy.replicas"),
        ("healthcheck", {"test": ["CMD", "x"], "new": 1}, "healthcheck.new"),
        ("networks", {"default": {"gw_priority": 1}}, "networks.gw_priority"),
        ("networks", {"default": {"ipv4_address": "192.0.2.7"}}, "networks.ipv4_address"),
        ("volumes", [{"type": "bind", "target": "/x"}], "volumes of type bind"),
        (
            "volumes",
            [{"type": "volume", "target": "/x", "volume": {"subpath": "a"}}],
            "volumes.volume.subpath",
        ),
        ("key_of_the_future", False, "key_of_the_future"),
    ],
)
def test_what_is_not_translated_is_named(key: str, value: Any, named: str) -> None:
    model = deepcopy(PLAIN)
    model["services"]["db"][key] = value
    assert unsupported(model) == [f"service 'db': {named}"]


def test_networks_volumes_and_parts_of_the_file_are_named_as_such() -> None:
    model = deepcopy(PLAIN)
    model["networks"]["default"]["enable_ipv4"] = False
    model["volumes"]["data"] = {"external": True}
    model["models"] = {"m": {}}
    assert unsupported(model) == [
        "models",
        "network 'default': enable_ipv4",
        "volume 'data': external",
    ]
