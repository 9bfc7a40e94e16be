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


@pytest.mark.usefixtures("no_engine")
def test_the_default_without_an_engine_says_how_to_get_one_and_names_bwrap() -> None:
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox(None, flag=FLAG).preflight([], flag=FLAG)
    message = str(caught.value)
    assert "no Docker engine answers here" in message
    assert "install Docker Engine" in message
    assert "--sandbox bwrap" in message
    assert "\n" not in message


@pytest.mark.usefixtures("no_engine")
@pytest.mark.parametrize("flag", ["--sandbox", "--ct-sandbox"])
def test_docker_asked_for_comes_next(flag: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        choose_sandbox("docker", flag=flag).preflight([], flag=flag)
    assert str(caught.value) == (
        f"{flag} docker comes next; use {flag} bwrap for portable environments"
    )


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
    spec = choose_sandbox("bwrap", flag=FLAG).spec(asked)
    assert spec.type == "ct-bwrap"
    config = spec.config
    assert config.source == str(asked.source)
    assert config.workspace == "/srv/shop"
    assert config.network is network
    assert config.programs == ("sh", "git")
    assert hash(config) is not None
