"""From an environment to what its samples' containers are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

from control_tower.environments.model import Environment
from control_tower.sandboxes.docker.adapting import adapted
from control_tower.sandboxes.docker.blueprint import blueprint_of
from control_tower.sandboxes.docker.compose import AGENTS_SERVICE, Model, resolved, written
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.engine import api_version, engine, owner_value
from control_tower.sandboxes.docker.failing import logger
from control_tower.sandboxes.docker.healthchecks import NEEDS_API
from control_tower.sandboxes.docker.host_guard import bridge_prefix, guard_host
from control_tower.sandboxes.docker.images import ImagesMissing, ensure_images, image_names
from control_tower.sandboxes.docker.marker import mark
from control_tower.sandboxes.docker.reach import Reach, networks_needed, with_reach
from control_tower.sandboxes.docker.seccomp import with_isolation
from control_tower.sandboxes.docker.unsupported import unsupported
from control_tower.sandboxes.docker.withheld import addresses_withheld
from control_tower.sandboxes.errors import EnvironmentRefused
from control_tower.sandboxes.owners import own_directory
from control_tower.sandboxes.settings import SandboxSettings


def docker_config(
    environment: Environment,
    settings: SandboxSettings | None = None,
    *,
    stopped: Callable[[], bool] = lambda: False,
) -> DockerConfig:
    """Build or pull an environment's images, and write down what its samples are made from.

    Args:
        environment: whose.
        settings: what the run asks of its sandboxes.
        stopped: whether to give up; asked again and again while Docker works.

    A build that fails is the configuration's `problem`.

    Raises:
        SandboxRefused: the state directory or the compose file cannot be used, or the host cannot
            be kept from the agent.
    """
    asked = settings or SandboxSettings()
    owner = own_directory()
    mark(owner)
    model = resolved(environment.compose_file, environment.argument_variables)
    names = image_names(environment.id, model)
    problem = None
    try:
        ensure_images(model, names, owner / f"{environment.id}.build.json", stopped)
    except ImagesMissing as failed:
        problem = f"the images of environment '{environment.id}' cannot be made:\n{failed}"
    agents = model["services"][AGENTS_SERVICE]
    image = None if problem else names.get(AGENTS_SERVICE) or str(agents["image"])
    shaped = _shaped(model, environment, asked, owner, image)
    runs = adapted(
        shaped,
        images=names,
        owner=owner_value(owner),
        environment=environment.id,
    )
    return DockerConfig(
        **_files(runs, environment, owner),
        provision=token_hex(4),
        workspace=environment.info.workspace,
        agent_user=environment.info.agent_user,
        problem=problem,
        startup_retries=asked.startup_retries,
        network_control=asked.network_control,
        isolation=asked.isolation,
    )


def _shaped(
    model: Model,
    environment: Environment,
    asked: SandboxSettings,
    owner: Path,
    image: str | None,
) -> Model:
    """The model with the networks that it may have, and room for isolation.

    Args:
        model: as its author means it.
        environment: whose.
        asked: what the run asks.
        owner: this process's directory.
        image: the agent's; None if it could not be made, and so no sample will start.
    """
    reach = Reach(
        no_internet=asked.no_internet,
        no_intranet=asked.no_intranet,
        network_control=asked.network_control,
    )

    def shape(withheld: bool) -> Model:
        return with_reach(
            model,
            internet=environment.info.network == "internet",
            reach=reach,
            bridges=bridge_prefix(owner),
            addresses_withheld=withheld,
        )

    shaped = shape(True)
    if image is not None and networks_needed(shaped):
        if not addresses_withheld(image, owner):
            shaped = shape(False)
        guard_host(shaped, image, owner)
    if asked.isolation:
        with engine() as client:
            own = list(client.info().get("SecurityOptions") or ())
        shaped = with_isolation(shaped, profile_file=owner / "seccomp.json", engine=own)
    return shaped


def _files(model: Model, environment: Environment, owner: Path) -> Mapping[str, Any]:
    """The files of a configuration, named after what is in them."""
    try:
        blueprint = blueprint_of(model, environment.id, start_intervals=api_version() >= NEEDS_API)
    except ValueError as error:
        raise EnvironmentRefused(f"{environment.compose_file}: {error}") from None
    files = {"blueprint": _kept(owner, environment.id, "blueprint", blueprint.model_dump_json())}
    if features := unsupported(model):
        logger.warning(
            "environment '%s' is run by docker compose, which is slower, for what we do not do "
            "ourselves: %s",
            environment.id,
            "; ".join(features),
        )
        files["compose_file"] = _kept(owner, environment.id, "compose", written(model))
    return files


def _kept(owner: Path, environment: str, kind: str, text: str) -> str:
    file = owner / f"{environment}.{sha256(text.encode()).hexdigest()[:16]}.{kind}.json"
    file.write_text(text, encoding="utf-8")
    return str(file)
