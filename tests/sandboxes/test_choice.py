"""The sandbox of a run: which one it is, and what is said where it will not do."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.environments import EnvironmentFiles

from control_tower.environments.loading import load_environment
from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem
from control_tower.sandboxes.choice import choose_sandbox

FLAG = "--sandbox"


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
    choice = choose_sandbox(None, flag=FLAG)
    assert (choice.name, choice.explicit) == ("docker", False)


@pytest.mark.parametrize("name", ["docker", "bwrap"])
def test_a_named_one_is_explicit(name: str) -> None:
    choice = choose_sandbox(name, flag=FLAG)
    assert (choice.name, choice.explicit) == (name, True)


@pytest.mark.parametrize(
    ("typo", "hint"),
    [
        ("dokcer", "did you mean 'docker'?"),
        ("Bwrap", "did you mean 'bwrap'?"),
        ("k8s", "valid: bwrap, docker"),
    ],
)
def test_an_unknown_one_gets_the_nearest(typo: str, hint: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox(typo, flag=FLAG)
    assert str(caught.value) == f"--sandbox: no sandbox is named '{typo}'; {hint}"


@pytest.mark.usefixtures("no_engine", "docker_program")
def test_the_default_without_an_engine_says_how_to_get_one_and_names_bwrap() -> None:
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox(None, flag=FLAG).preflight([], flag=FLAG, samples_at_once=1)
    assert str(caught.value) == (
        "no Docker engine answers here; install and start Docker Engine 24 or newer, or name one "
        "in DOCKER_HOST; or run portable environments without Docker: --sandbox bwrap"
    )


@pytest.mark.usefixtures("no_engine", "docker_program")
@pytest.mark.parametrize("flag", ["--sandbox", "--ct-sandbox"])
def test_docker_that_was_asked_for_is_not_replaced(flag: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox("docker", flag=flag).preflight([], flag=flag, samples_at_once=1)
    assert str(caught.value) == (
        f"{flag} docker: no Docker engine answers here; install and start Docker Engine 24 or "
        "newer, or name one in DOCKER_HOST"
    )


def test_an_environment_without_a_compose_file_is_refused_for_docker(tmp_path: Path) -> None:
    bare = environment(tmp_path)
    bare.compose_file.unlink()
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox("docker", flag=FLAG).refuse_unfit(bare, flag=FLAG)
    assert str(caught.value) == ("--sandbox docker: environment 'mini' has no codebase/compose.yml")
    choose_sandbox("bwrap", flag=FLAG).refuse_unfit(bare, flag=FLAG)


def test_an_environment_that_is_not_portable_is_refused_for_bwrap(tmp_path: Path) -> None:
    fixed = environment(tmp_path, portable="false")
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox("bwrap", flag=FLAG).refuse_unfit(fixed, flag=FLAG)
    assert str(caught.value) == (
        "--sandbox bwrap: environment 'mini' is not portable; it needs --sandbox docker"
    )
    choose_sandbox("docker", flag=FLAG).refuse_unfit(fixed, flag=FLAG)


def test_a_portable_one_is_not_even_without_programs(tmp_path: Path) -> None:
    choose_sandbox("bwrap", flag=FLAG).refuse_unfit(environment(tmp_path, portable="[]"), flag=FLAG)


def test_a_workspace_that_bwrap_cannot_mount_is_refused_before_the_start(tmp_path: Path) -> None:
    odd = environment(tmp_path, more="workspace: /usr/share\n")
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox("bwrap", flag=FLAG).refuse_unfit(odd, flag=FLAG)
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
    spec = choose_sandbox("bwrap", flag=FLAG).provide([asked])["mini"].spec
    assert spec.type == "ct-bwrap"
    config = spec.config
    assert config.source == str(asked.source)
    assert config.workspace == "/srv/shop"
    assert config.network is network
    assert config.programs == ("sh", "git")
    assert hash(config) is not None
