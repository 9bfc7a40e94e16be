"""What must be there before a run in Docker; needs no engine."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from control_tower.sandboxes.docker.preflight import free_networks, preflight
from control_tower.sandboxes.errors import SandboxRefused

Program = Callable[[str], None]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Puts a program `docker` with this shell script first on the path."""

    def put(script: str) -> None:
        path = tmp_path / "bin" / "docker"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(path.parent), prepend=os.pathsep)

    return put


def refusal() -> str:
    with pytest.raises(SandboxRefused) as caught:
        preflight()
    message = str(caught.value)
    assert "\n" not in message
    return message


COMPOSE = 'echo \'{"version":"2.30.1"}\''


def test_no_docker_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert refusal().startswith("the program docker is not on the path; install")


@pytest.mark.parametrize("script", ["exit 1", "echo docker: no such command >&2; exit 125"])
def test_no_compose(program: Program, script: str) -> None:
    program(script)
    assert "install Docker's compose plugin" in refusal()


def test_an_old_compose(program: Program) -> None:
    program('echo \'{"version":"v2.12.2"}\'')
    assert "`docker compose` is v2.12.2, and 2.24.0 or newer is needed" in refusal()


def test_no_engine(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(COMPOSE)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody-listens.sock")
    assert refusal().startswith("no Docker engine answers here; install and start Docker Engine 24")


POOL = [{"Base": "10.0.0.0/22", "Size": 24}]


@pytest.mark.parametrize(
    ("taken", "room"),
    [
        ([], 4),
        (["10.0.1.0/24"], 3),
        (["10.0.1.0/25", "10.0.1.128/25"], 3),
        (["10.0.0.0/23"], 2),
        (["192.168.1.0/24", "fd00::/64"], 4),
    ],
)
def test_the_room_for_networks_is_what_the_pool_has_left(taken: list[str], room: int) -> None:
    assert free_networks(POOL, taken) == room


def test_the_built_in_pools_have_room_for_about_thirty() -> None:
    assert free_networks(None, ["172.17.0.0/16"]) == 30
