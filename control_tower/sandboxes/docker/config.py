"""What a sample's containers are made from."""

from __future__ import annotations

from pydantic import BaseModel


class DockerConfig(BaseModel, frozen=True):
    """One sample of the `docker` provider; frozen, so that Inspect can hash it."""

    blueprint: str
    """Path of the `Blueprint` in JSON, in the directory of the process that made it."""

    compose_file: str | None = None
    """Path of the compose file that `docker compose` runs, where the blueprint cannot say all."""

    workspace: str
    """Absolute path in the service `default`: where checks run."""

    agent_user: str
    """Commands in the service `default` run as this user unless they name another."""

    provision: str = ""
    """Which call of `docker_config` made it: what comes to be known of its samples in one run need
    not be so in the next, in the same process or not."""

    problem: str | None = None
    """Why the images could not be made; then a sample ends at its start, with these words."""

    startup_retries: int = 7
    """How often a start-up that failed for a passing reason is tried again; 0 is never."""

    network_control: bool = False
    """Whether the agent's container has NET_ADMIN, so that blue may change its firewall."""

    isolation: bool = False
    """Whether each command of the agent runs in bubblewrap inside of the container."""
