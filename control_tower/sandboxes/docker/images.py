"""Building an environment's images, once for all processes."""

from __future__ import annotations

import fcntl
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from control_tower.sandboxes.docker.compose import Model
from control_tower.sandboxes.docker.engine import engine
from control_tower.sandboxes.owners import state_root

_LINES = 15
"""Lines of a failed build's output that are passed on."""


class BuildFailed(Exception):
    """An image could not be built; the text is the end of the build's output."""


def image_names(environment: str, model: Model) -> dict[str, str]:
    """Image name by service, of the services that are built.

    A name holds a hash over the build's settings and all files of its context, so that an image is
    built anew when, and only when, one of them changed.
    """
    return {
        service: f"control-tower-{environment}-{service}:{_hash(settings['build'])}".lower()
        for service, settings in model["services"].items()
        if settings.get("build")
    }


def build(model: Model, names: dict[str, str], compose_file: Path) -> None:
    """Build the images that are not there yet; other processes wait and find them.

    Args:
        model: as the environment's author wrote it, resolved.
        names: as `image_names` gives them.
        compose_file: where to write what is built; its directory exists.

    Raises:
        BuildFailed: with the last lines of the output.
        SandboxRefused: the state directory cannot be used.
    """
    with _one_at_a_time(names):
        missing = _missing(names)
        if not missing:
            return
        services = {
            service: {"build": model["services"][service]["build"], "image": names[service]}
            for service in missing
        }
        compose_file.write_text(json.dumps({"services": services}), encoding="utf-8")
        command = ["docker", "compose", "-p", "control-tower", "-f", str(compose_file)]
        done = subprocess.run(
            [*command, "--progress", "plain", "build", *missing],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            lines = [line for line in done.stdout.splitlines() if line.strip()]
            raise BuildFailed("\n".join(lines[-_LINES:]))


def _missing(names: dict[str, str]) -> list[str]:
    from docker.errors import ImageNotFound

    missing: list[str] = []
    with engine() as client:
        for service, name in names.items():
            try:
                client.images.get(name)
            except ImageNotFound:
                missing.append(service)
    return missing


@contextmanager
def _one_at_a_time(names: dict[str, str]) -> Iterator[None]:
    """Hold a lock that stands for these very images; the kernel drops a dead holder's."""
    digest = sha256(repr(sorted(names.values())).encode()).hexdigest()[:16]
    with open(state_root() / f".images-{digest}", "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _hash(build: dict[str, Any]) -> str:
    digest = sha256(json.dumps(build, sort_keys=True).encode())
    context = Path(str(build.get("context", "")))
    for path in sorted(context.rglob("*")) if context.is_dir() else ():
        if "__pycache__" in path.parts or not path.is_file():
            continue
        mode = path.stat().st_mode & 0o777
        digest.update(f"{path.relative_to(context).as_posix()}\0{mode}\0".encode())
        digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]
