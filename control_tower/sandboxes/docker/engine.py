"""The Docker engine: the connection to it, and the labels of what is ours in it."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docker import DockerClient

OWNER_LABEL = "control-tower.owner"
"""On every container, network and volume: `owner_value` of the process that made it."""
ENVIRONMENT_LABEL = "control-tower.environment"
"""On the same: the environment's id."""

_TIMEOUT = 60
"""Seconds for one call of the engine's API."""


@contextlib.contextmanager
def engine() -> Iterator[DockerClient]:
    """The engine that Docker's command line uses: `DOCKER_HOST`, or the current context's.

    Raises:
        docker.errors.DockerException: there is none, or it does not answer.
    """
    import docker

    host = None if os.environ.get("DOCKER_HOST") else _context_host()
    client = (
        docker.DockerClient(base_url=host, timeout=_TIMEOUT)
        if host
        else docker.from_env(timeout=_TIMEOUT)
    )
    try:
        yield client
    finally:
        client.close()


@functools.cache
def _context_host() -> str | None:
    """The engine's address in the current context; the client library knows no contexts."""
    command = ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


@functools.cache
def api_version() -> tuple[int, ...]:
    """The newest version of its API that the engine speaks, such as (1, 44)."""
    with engine() as client:
        version = str(client.version()["ApiVersion"])
    return tuple(int(part) for part in version.split("."))


def owner_value(directory: Path) -> str:
    """The value of `OWNER_LABEL`: an engine may serve several machines."""
    return f"{socket.gethostname()}:{directory}"


def directory_of(value: str) -> Path | None:
    """The owner's directory that a label names, or None if it is another machine's."""
    host, _, directory = value.partition(":")
    return Path(directory) if host == socket.gethostname() else None
