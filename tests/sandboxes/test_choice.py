"""The sandbox of a run: which one it is, and what is said where it will not do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.environments import EnvironmentFiles

from control_tower.environments.loading import load_environment
from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem
from control_tower.options import BY_KEY
from control_tower.run_options import RunOptions
from control_tower.sandboxes import choice
from control_tower.sandboxes.chosen import SandboxChoice
from control_tower.sandboxes.errors import SandboxRefused
from control_tower.sandboxes.settings import SandboxSettings


def ct(key: str) -> str:
    return BY_KEY[key].spelling("ct")


def choose_sandbox(name: str | None, **asked: Any) -> SandboxChoice:
    options = RunOptions.from_values(asked, front_end="ct")
    return choice.choose_sandbox(name, SandboxSettings.of(options), flags=ct)


def refusal(name: str | None, **asked: Any) -> str:
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox(name, **asked)
    message = str(caught.value)
    assert "\n" not in message
    return message


def environment(tmp_path: Path, *, portable: str = "[sh]", more: str = "") -> Environment:
    root = EnvironmentFiles(portable=portable).write(tmp_path)
    with (root / "environment.yaml").open("a") as file:
        file.write(more)
    return load_environment(root)


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody-listens.sock")


@pytest.fixture
def docker_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Docker's command line with compose, whether or not this machine has it."""
    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho \'{"version": "2.30.1"}\'\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")


def test_docker_is_the_default() -> None:
    chosen = choose_sandbox(None)
    assert (chosen.name, chosen.explicit) == ("docker", False)


@pytest.mark.parametrize("name", ["docker", "bwrap", "inspect-docker", "local"])
def test_a_named_one_is_explicit(name: str) -> None:
    chosen = choose_sandbox(name)
    assert (chosen.name, chosen.explicit) == (name, True)


@pytest.mark.parametrize(
    ("typo", "hint"),
    [
        ("dokcer", "did you mean 'docker'?"),
        ("Bwrap", "did you mean 'bwrap'?"),
        ("locl", "did you mean 'local'?"),
        ("ct-bwrap", "did you mean 'bwrap'?"),
    ],
)
def test_an_unknown_one_gets_the_nearest(typo: str, hint: str) -> None:
    assert refusal(typo) == f"--sandbox: no sandbox is named '{typo}'; {hint}"


@pytest.mark.parametrize("name", ["bwrap", "local", "inspect-docker"])
@pytest.mark.parametrize(
    ("asked", "flag"),
    [
        ({"no_internet": True}, "--no-internet"),
        ({"no_intranet": True}, "--no-intranet"),
        ({"network_control": True}, "--network-control"),
        ({"sandbox_isolation": True}, "--sandbox-isolation"),
        ({"startup_retries": 7}, "--startup-retries"),
        ({"startup_retries": 0}, "--startup-retries"),
    ],
)
def test_what_only_docker_honours_is_refused_elsewhere(
    name: str, asked: dict[str, Any], flag: str
) -> None:
    assert refusal(name, **asked) == (
        f"{flag} cannot go with --sandbox {name}: only the docker sandbox honours it; leave out "
        f"{flag}, or --sandbox {name}"
    )
    for docker in (None, "docker"):
        assert choose_sandbox(docker, **asked).name == "docker"


def test_all_of_them_are_named_at_once() -> None:
    message = refusal("bwrap", no_internet=True, no_intranet=True, startup_retries=1)
    assert message.startswith("--startup-retries and --no-internet and --no-intranet cannot go")


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        (None, "docker, the default sandbox"),
        ("docker", "--sandbox docker"),
        ("bwrap", "--sandbox bwrap"),
        ("inspect-docker", "--sandbox inspect-docker"),
    ],
)
def test_arguments_are_refused_where_none_are_taken(name: str | None, chosen: str) -> None:
    assert refusal(name, sandbox_arg=("a=1",)) == (
        f"--sandbox-arg cannot go with {chosen}, which takes no arguments; name the sandbox that "
        "they are for with --sandbox"
    )


@pytest.mark.usefixtures("no_engine", "docker_program")
def test_the_default_without_an_engine_says_how_to_get_one_and_names_bwrap() -> None:
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox(None).preflight([], samples_at_once=1)
    assert str(caught.value) == (
        f"no Docker engine answers at DOCKER_HOST={os.environ['DOCKER_HOST']}; start it, name "
        "another there, or leave the variable out; or run portable environments without Docker: "
        "--sandbox bwrap"
    )


@pytest.mark.usefixtures("no_engine", "docker_program")
@pytest.mark.parametrize("flag", ["--sandbox", "--ct-sandbox"])
def test_docker_that_was_asked_for_is_not_replaced(flag: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        choice.choose_sandbox("docker", SandboxSettings(), flags=lambda key: flag).preflight(
            [], samples_at_once=1
        )
    assert str(caught.value) == (
        f"{flag} docker: no Docker engine answers at DOCKER_HOST={os.environ['DOCKER_HOST']}; "
        "start it, name another there, or leave the variable out"
    )


@pytest.mark.parametrize(("named", "fault"), [("/bin/true", "no bwrap"), ("/", "a folder")])
@pytest.mark.usefixtures("no_engine", "docker_program")
def test_what_is_no_bwrap_is_said_before_an_engine_is_asked(
    monkeypatch: pytest.MonkeyPatch, named: str, fault: str
) -> None:
    monkeypatch.setenv("CT_BWRAP_HOST_BINARY", named)
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox(None, sandbox_isolation=True).preflight([], samples_at_once=1)
    assert str(caught.value) == (
        f"--sandbox-isolation: CT_BWRAP_HOST_BINARY={named}: it is {fault}; name a bwrap for "
        "Linux, or leave the variable out"
    )


def test_an_environment_without_a_compose_file_is_refused_for_docker(tmp_path: Path) -> None:
    bare = environment(tmp_path)
    bare.compose_file.unlink()
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox("docker").refuse_unfit(bare)
    assert str(caught.value) == ("--sandbox docker: environment 'mini' has no codebase/compose.yml")
    choose_sandbox("bwrap").refuse_unfit(bare)


def test_an_environment_that_is_not_portable_is_refused_for_bwrap(tmp_path: Path) -> None:
    fixed = environment(tmp_path, portable="false")
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox("bwrap").refuse_unfit(fixed)
    assert str(caught.value) == (
        "--sandbox bwrap: environment 'mini' is not portable; it needs --sandbox docker"
    )
    choose_sandbox("docker").refuse_unfit(fixed)


def test_a_portable_one_is_not_even_without_programs(tmp_path: Path) -> None:
    choose_sandbox("bwrap").refuse_unfit(environment(tmp_path, portable="[]"))


def test_a_workspace_that_bwrap_cannot_mount_is_refused_before_the_start(tmp_path: Path) -> None:
    odd = environment(tmp_path, more="workspace: /usr/share\n")
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox("bwrap").refuse_unfit(odd)
    message = str(caught.value)
    assert message.startswith("--sandbox bwrap: environment 'mini': ")
    assert "/usr/share" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("more", "network"), [("", False), ("network: none\n", False), ("network: internet\n", True)]
)
def test_the_sandbox_of_a_sample_is_what_its_environment_asks(
    tmp_path: Path, more: str, network: bool
) -> None:
    asked = environment(tmp_path, portable="[sh, git]", more=f"workspace: /srv/shop\n{more}")
    spec = choose_sandbox("bwrap").provide([asked])["mini"].spec
    assert spec.type == "ct-bwrap"
    config = spec.config
    assert config.source == str(asked.source)
    assert config.workspace == "/srv/shop"
    assert config.network is network
    assert config.programs == ("sh", "git")
    assert hash(config) is not None


@pytest.fixture
def free_networks(monkeypatch: pytest.MonkeyPatch) -> int:
    """An engine that answers, and has room for so many networks."""
    place = "control_tower.sandboxes.docker"
    monkeypatch.setattr(f"{place}.preflight.preflight", lambda: None)
    monkeypatch.setattr(f"{place}.leftovers.remove_ownerless", list)
    monkeypatch.setattr("control_tower.sandboxes.leftovers.remove_leftovers", list)

    def check_room(samples: int, networks: int = 1) -> None:
        if samples * networks > 6:
            raise SandboxRefused(f"no room for {samples} times {networks}")

    monkeypatch.setattr(f"{place}.preflight.check_room", check_room)
    return 6


MODELS: dict[str, dict[str, Any]] = {
    "alone": {"services": {"default": {}}},
    "two": {
        "services": {"default": {"networks": {"n": None}}, "db": {"networks": {"n": None}}},
        "networks": {"n": {}},
    },
}


@pytest.mark.parametrize(
    ("model", "network", "asked", "each"),
    [
        ("alone", "none", {}, 0),
        ("alone", "internet", {}, 1),
        ("alone", "internet", {"no_internet": True}, 0),
        ("two", "none", {}, 1),
        ("two", "internet", {}, 2),
        ("two", "internet", {"no_internet": True}, 1),
    ],
)
def test_room_is_checked_for_the_networks_that_samples_will_have(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    free_networks: int,
    model: str,
    network: str,
    asked: dict[str, Any],
    each: int,
) -> None:
    monkeypatch.setattr(
        "control_tower.sandboxes.docker.compose.resolved", lambda *args: MODELS[model]
    )
    mine = environment(tmp_path, more=f"network: {network}\n")
    chosen = choose_sandbox("docker", **asked)
    most = free_networks // each if each else 1000
    chosen.preflight([mine], samples_at_once=most)
    if each:
        with pytest.raises(UsageProblem) as caught:
            chosen.preflight([mine], samples_at_once=most + 1)
        assert str(caught.value) == f"--sandbox docker: no room for {most + 1} times {each}"


def test_what_cannot_be_parted_is_said_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_networks: int
) -> None:
    model = {"services": {"default": {}, "side": {"network_mode": "service:default"}}}
    monkeypatch.setattr("control_tower.sandboxes.docker.compose.resolved", lambda *args: model)
    mine = environment(tmp_path)
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox("docker", no_intranet=True).preflight([mine], samples_at_once=1)
    message = str(caught.value)
    assert message.startswith(f"--sandbox docker: {mine.compose_file}: service 'side'")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "asked", "described", "recorded"),
    [
        (None, {}, "docker (default)", {}),
        ("docker", {"startup_retries": 3}, "docker", {}),
        ("bwrap", {}, "bwrap", {}),
        (
            None,
            {"no_internet": True, "sandbox_isolation": True},
            "docker (default) --no-internet --sandbox-isolation",
            {"no_internet": True, "sandbox_isolation": True},
        ),
        (
            "support.boxes:noted",
            {"sandbox_arg": ("size=3", "label=x")},
            "support.boxes:noted",
            {"size": 3, "label": "x"},
        ),
    ],
)
def test_what_shapes_it_is_described_and_recorded(
    name: str | None, asked: dict[str, Any], described: str, recorded: dict[str, Any]
) -> None:
    chosen = choose_sandbox(name, **asked)
    assert chosen.described == described
    assert chosen.asked == recorded
