"""What a sample's containers are made from."""

from __future__ import annotations

from pydantic import BaseModel


class DockerConfig(BaseModel, frozen=True):
    """One sample of the `docker` provider; frozen, so that Inspect can hash it."""

    compose_file: str
    """The environment's compose file as we run it: resolved, its images named and built."""

    workspace: str
    """Absolute path in the service `default`: where checks run."""

    agent_user: str
    """Commands in the service `default` run as this user unless they name another."""

    problem: str | None = None
    """Why the images could not be made; then a sample ends at its start, with these words."""
