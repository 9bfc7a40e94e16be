"""Reading a compose file, and writing one for compose to read."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from control_tower.sandboxes.errors import EnvironmentRefused

Model = dict[str, Any]
"""A compose file as `docker compose config` resolves it, each `$` as it is meant."""

AGENTS_SERVICE = "default"
"""The service in which the agent works."""

_RESOLVE = 60
"""Seconds."""
_NAME = "control-tower"
"""A project name for resolving; each sample has one of its own."""


def resolved(compose_file: Path, variables: Mapping[str, str] | None = None) -> Model:
    """The compose file with variables, extensions and relative paths resolved.

    Args:
        compose_file: as the environment's author wrote it.
        variables: put over those of this process.

    Raises:
        EnvironmentRefused: `docker compose` does not accept it, with its words; or it names a
            seccomp profile that cannot be read.
    """
    command = ["docker", "compose", "-p", _NAME, "-f", str(compose_file)]
    try:
        done = subprocess.run(
            [*command, "config", "--format", "json"],
            capture_output=True,
            text=True,
            timeout=_RESOLVE,
            check=False,
            env={**os.environ, **(variables or {})},
        )
    except subprocess.TimeoutExpired:
        problem = f"docker compose did not read it within {_RESOLVE} seconds"
        raise EnvironmentRefused(f"{compose_file}: {problem}") from None
    if done.returncode != 0:
        said = " / ".join(line.strip() for line in done.stderr.splitlines() if line.strip())
        raise EnvironmentRefused(
            f"{compose_file}: docker compose does not accept it: {said[-1000:]}"
        )
    model: Model = json.loads(done.stdout.replace("$$", "$"))
    _place_profiles(model, compose_file)
    return model


def _place_profiles(model: Model, compose_file: Path) -> None:
    """Make paths of seccomp profiles absolute, which compose resolves only when it runs a file."""
    for name, service in model["services"].items():
        options = service.get("security_opt") or []
        for at, option in enumerate(options):
            kind, _, profile = option.replace(":", "=", 1).partition("=")
            if kind != "seccomp" or profile in ("builtin", "unconfined"):
                continue
            path = compose_file.parent.absolute() / profile
            try:
                json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise EnvironmentRefused(
                    f"{compose_file}: service '{name}': the seccomp profile {profile} cannot be "
                    f"read: {error}"
                ) from None
            options[at] = f"seccomp={path}"


def written(model: Mapping[str, Any]) -> str:
    """The text of a compose file that stands for a model, each `$` written so that it stays one."""
    return json.dumps(model).replace("$", "$$")
