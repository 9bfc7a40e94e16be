"""What must be there before a run in Docker; needs no engine."""

from __future__ import annotations

import http.server
import json
import os
import re
import socketserver
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from control_tower.sandboxes.docker.preflight import (
    check_room,
    check_variables,
    free_networks,
    preflight,
)
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


def refusal(check: Callable[[], None] = preflight) -> str:
    with pytest.raises(SandboxRefused) as caught:
        check()
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
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(
        "control_tower.sandboxes.docker.engine.engine_host",
        lambda: f"unix://{tmp_path}/nobody-listens.sock",
    )
    assert refusal().startswith("no Docker engine answers here; install and start Docker Engine 24")


def test_no_engine_where_one_is_named(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(COMPOSE)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody-listens.sock")
    assert refusal() == (
        f"no Docker engine answers at DOCKER_HOST=unix://{tmp_path}/nobody-listens.sock; start it, "
        "name another there, or leave the variable out"
    )


@pytest.fixture
def in_the_way(tmp_path: Path) -> str:
    """Path of a file."""
    (tmp_path / "file").write_text("")
    return str(tmp_path / "file")


def test_a_state_directory_that_is_none(in_the_way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT_STATE_DIR", in_the_way)
    assert f"the state directory {in_the_way} cannot be used" in refusal(check_variables)


@pytest.mark.parametrize("value", ["", "0", "1"])
def test_variables_that_say_something(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT_ENGINE_CALLS", "4")
    monkeypatch.setenv("CT_HOST_REACHABLE", value)
    check_variables()


@pytest.mark.parametrize(
    ("name", "value", "way"),
    [
        ("CT_ENGINE_CALLS", "some", "give one from 1 to 256"),
        ("CT_HOST_REACHABLE", "yes", "give 1 where agents may reach the host"),
    ],
)
def test_variables_that_say_nothing(
    name: str, value: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    message = refusal(check_variables)
    assert message.startswith(f"{name}='{value}'")
    assert way in message


class OldEngine(socketserver.ThreadingUnixStreamServer):
    """Answers on a socket as an engine of Debian 12 does."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), _OldAnswers)


class _OldAnswers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"Version": "20.10.24+dfsg1", "ApiVersion": "1.41"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "test"

    def log_message(self, *_: object) -> None:
        pass


def test_an_old_engine(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(COMPOSE)
    with OldEngine(tmp_path / "s") as engine:
        threading.Thread(target=engine.serve_forever, daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
        message = refusal()
        engine.shutdown()
    assert message == (
        "the Docker engine is 20.10.24+dfsg1, and 24.0.6 or newer is needed; update it"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_an_engine_that_this_user_may_not_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OldEngine(tmp_path / "s"):
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
        os.seteuid(65534)
        try:
            message = refusal(lambda: check_room(1))
        finally:
            os.seteuid(0)
    assert message == (
        "this user may not use the Docker engine; add it to the group docker and log in again, or "
        "run as root"
    )


@pytest.mark.docker
def test_this_machine_s_engine_will_do_and_its_pool_has_an_end() -> None:
    preflight()
    check_room(3)
    with pytest.raises(SandboxRefused) as caught:
        check_room(100_000)
    assert re.fullmatch(
        r"the engine has addresses for \d+ more networks, and 100000 samples at once need one each; "
        r"lower the number of samples at once, remove networks that are not used \(docker network "
        r"prune\), or give the engine a larger default-address-pool",
        str(caught.value),
    )


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
