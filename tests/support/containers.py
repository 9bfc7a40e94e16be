"""Environments in containers, and what an engine holds of them."""

from __future__ import annotations

from pathlib import Path

from control_tower.sandboxes.docker.engine import RUN_LABEL, engine

DOCKERFILE = """
ARG BASE_IMAGE=debian:12-slim
FROM ${BASE_IMAGE}
RUN useradd --create-home agent
COPY --chown=agent:agent src /app
RUN chown agent:agent /app && echo hidden >/secret && chmod 600 /secret
WORKDIR /app
CMD ["sleep", "infinity"]
"""
COMPOSE = """
services:
  default:
    build: {context: ., args: {BASE_IMAGE: "${CT_BASE_IMAGE:-debian:12-slim}"}}
    init: true
    stop_grace_period: 1s
"""


def write_compose(environment: Path, *, dockerfile: str = DOCKERFILE, more: str = "") -> None:
    """Give a test environment a compose file; `more` is added to it."""
    codebase = environment / "codebase"
    (codebase / "Dockerfile").write_text(dockerfile)
    (codebase / "compose.yml").write_text(COMPOSE + more)


def containers_of(environment: str) -> list[str]:
    """Names of all containers of an environment's samples, running or not."""
    with engine() as client:
        filters: dict[str, str | list[str] | bool] = {"label": f"{RUN_LABEL}={environment}"}
        found = client.containers.list(all=True, filters=filters, ignore_removed=True)
        return sorted(str(container.name) for container in found)
