"""Building and pulling an environment's images, once for all processes."""

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


class ImagesMissing(Exception):
    """An image could not be built or pulled; the text is the end of what Docker said."""


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


def ensure_images(model: Model, names: dict[str, str], compose_file: Path) -> None:
    """Build or pull the images that are not there yet; other processes wait and find them.

    Args:
        model: as the environment's author wrote it, resolved.
        names: as `image_names` gives them.
        compose_file: where to write what is built; its directory exists.

    Raises:
        ImagesMissing: with the last lines of the output.
        SandboxRefused: the state directory cannot be used.
    """
    pulled = {
        service: str(settings["image"])
        for service, settings in model["services"].items()
        if service not in names
    }
    with _one_at_a_time({**names, **pulled}):
        for image in sorted({pulled[service] for service in _missing(pulled)}):
            _docker("pull", "-q", image)
        missing = _missing(names)
        if not missing:
            return
        services = {
            service: {"build": model["services"][service]["build"], "image": names[service]}
            for service in missing
        }
        compose_file.write_text(json.dumps({"services": services}), encoding="utf-8")
        project = ("compose", "-p", "control-tower", "-f", str(compose_file))
        _docker(*project, "--progress", "plain", "build", *missing)


def _docker(*args: str) -> None:
    """Run Docker's command line; a failure raises the end of its output."""
    done = subprocess.run(
        ["docker", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        raise ImagesMissing("\n".join(lines[-_LINES:]))


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
