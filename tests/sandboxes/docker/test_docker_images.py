"""Images that cannot be had, on the real engine."""

from __future__ import annotations

import pytest
from support.environments import write_compose

from control_tower.environments.model import Environment
from control_tower.sandboxes.docker.environment import docker_config

pytestmark = [pytest.mark.docker, pytest.mark.slow]

NOWHERE = "127.0.0.1:1/nosuch/thing:1.0"
"""Of a registry where nothing answers."""


def problem(environment: Environment, more: str) -> str:
    write_compose(environment.directory, more=more)
    found = docker_config(environment).problem
    assert found is not None
    return found


def test_an_image_that_cannot_be_pulled_is_named_with_its_service(environment: Environment) -> None:
    said = problem(environment, f"  db: {{image: '{NOWHERE}'}}\n")
    beginning, line = said.split("\n", 1)
    assert beginning == "the images of environment 'tiny' cannot be made:"
    assert line.startswith(
        f"service 'db': image '{NOWHERE}' is not here and cannot be pulled: Error response"
    )


def test_one_of_several_services_is_pulled_once(environment: Environment) -> None:
    services = "".join(f"  {name}: {{image: '{NOWHERE}'}}\n" for name in ("second", "first"))
    said = problem(environment, services)
    assert f"\nservice 'first' and service 'second': image '{NOWHERE}' is not here" in said


def test_a_run_that_is_stopped_meanwhile_says_so(environment: Environment) -> None:
    write_compose(environment.directory, more=f"  db: {{image: '{NOWHERE}'}}\n")
    found = docker_config(environment, stopped=lambda: True).problem
    assert found == "the images of environment 'tiny' cannot be made:\nthe run was stopped"
