"""From an environment to what its samples' containers are made from."""

from __future__ import annotations

import json
from collections.abc import Callable

from control_tower.environments.model import Environment
from control_tower.sandboxes.docker.compose import adapted, resolved
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.engine import api_version, owner_value
from control_tower.sandboxes.docker.healthchecks import NEEDS_API
from control_tower.sandboxes.docker.images import ImagesMissing, ensure_images, image_names
from control_tower.sandboxes.docker.marker import mark
from control_tower.sandboxes.owners import own_directory


def docker_config(
    environment: Environment, *, stopped: Callable[[], bool] = lambda: False
) -> DockerConfig:
    """Build or pull an environment's images, and write the compose file that its samples run.

    Args:
        environment: whose.
        stopped: whether to give up; asked again and again while Docker works.

    A build that fails is the configuration's `problem`.

    Raises:
        SandboxRefused: the state directory or the compose file cannot be used.
    """
    owner = own_directory()
    mark(owner)
    model = resolved(environment.compose_file, environment.argument_variables)
    internet = environment.info.network == "internet"
    names = image_names(environment.id, model)
    problem = None
    try:
        ensure_images(model, names, owner / f"{environment.id}.build.json", stopped)
    except ImagesMissing as failed:
        problem = f"the images of environment '{environment.id}' cannot be made:\n{failed}"
    runs = adapted(
        model,
        images=names,
        internet=internet,
        owner=owner_value(owner),
        environment=environment.id,
        start_intervals=api_version() >= NEEDS_API,
    )
    file = owner / f"{environment.id}.compose.json"
    file.write_text(json.dumps(runs), encoding="utf-8")
    return DockerConfig(
        compose_file=str(file),
        workspace=environment.info.workspace,
        agent_user=environment.info.agent_user,
        problem=problem,
    )
