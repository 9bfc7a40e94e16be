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
RUN_LABEL = "control-tower.run"
"""On the same: the run that it was made for, where that is known."""
SAMPLE_LABEL = "control-tower.sample"
"""On the same: the sample that it is a part of, as its names begin: `ct-<token>`."""

_TIMEOUT = 60
"""Seconds for one call of the engine's API."""


@contextlib.contextmanager
def engine() -> Iterator[DockerClient]:
    """The engine that Docker's command line uses: `DOCKER_HOST`, or the current context's.

    Raises:
        docker.errors.DockerException: there is none, or it does not answer.
    """
    client = open_client()
    try:
        yield client
    finally:
        client.close()


def open_client(most_at_once: int = 10) -> DockerClient:
    """A client of the same engine, to be closed by the caller.

    Args:
        most_at_once: connections that it keeps for calls from several threads.

    Raises:
        docker.errors.DockerException: there is none, or it does not answer.
    """
    import docker

    host = engine_host()
    if host is None or os.environ.get("DOCKER_HOST"):
        return docker.from_env(timeout=_TIMEOUT, max_pool_size=most_at_once)
    return docker.DockerClient(base_url=host, timeout=_TIMEOUT, max_pool_size=most_at_once)


def engine_host() -> str | None:
    """The engine's address, such as `unix:///run/docker.sock`; None for the usual one.

    Raises:
        docker.errors.DockerException: it cannot be found out now.
    """
    return os.environ.get("DOCKER_HOST") or _context_host()


@functools.cache
def _context_host() -> str | None:
    """The engine's address in the current context; the client library knows no contexts.

    Raises:
        docker.errors.DockerException: Docker's command line cannot be asked now.
    """
    from docker.errors import DockerException

    command = ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT, check=False
        )
    except (FileNotFoundError, PermissionError):
        return None  # there is no command line
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DockerException(f"`docker context` cannot be asked: {error}") from error
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
