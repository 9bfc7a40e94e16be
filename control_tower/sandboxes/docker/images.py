"""Building and pulling an environment's images, once for all processes."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from control_tower.sandboxes.docker.compose import Model, written
from control_tower.sandboxes.docker.dying import dying_with_parent
from control_tower.sandboxes.docker.engine import engine
from control_tower.sandboxes.owners import state_root

_LOOK = 0.2
"""Seconds between two looks at whether to go on."""
_LINES = 15
"""Lines of a failed build's output that are passed on."""


class ImagesMissing(Exception):
    """An image could not be built or pulled; the text is the end of what Docker said."""


class _Stopped(ImagesMissing):
    def __init__(self) -> None:
        super().__init__("the run was stopped")


def image_names(environment: str, model: Model) -> dict[str, str]:
    """Image name by service, of the services that are built.

    A name holds a hash over the build's settings and all files of its context, so that an image is
    built anew when one of them changed, and found again when none did.
    """
    return {
        service: f"{_image_name(environment, service)}:{_hash(settings['build'])}"
        for service, settings in model["services"].items()
        if settings.get("build")
    }


def _image_name(environment: str, service: str) -> str:
    words = re.findall("[a-z0-9]+", f"{environment} {service}".lower())
    return "-".join(["control-tower", *words])


def ensure_images(
    model: Model, names: dict[str, str], compose_file: Path, stopped: Callable[[], bool]
) -> None:
    """Build or pull the images that are not there yet; other processes wait and find them.

    Args:
        model: as the environment's author wrote it, resolved.
        names: as `image_names` gives them.
        compose_file: where to write what is built; its directory exists.
        stopped: whether to give up; asked again and again.

    Raises:
        ImagesMissing: with the last lines of the output.
        SandboxRefused: the state directory cannot be used.
    """
    pulled = {
        service: str(settings["image"])
        for service, settings in model["services"].items()
        if service not in names
    }
    with _one_at_a_time({**names, **pulled}, stopped):
        _pull({service: pulled[service] for service in _missing(pulled)}, stopped)
        missing = _missing(names)
        if not missing:
            return
        services = {
            service: {"build": model["services"][service]["build"], "image": names[service]}
            for service in missing
        }
        compose_file.write_text(written({"services": services}), encoding="utf-8")
        project = ["compose", "-p", "control-tower", "-f", str(compose_file)]
        _docker([*project, "--progress", "plain", "build", *missing], stopped)


def _pull(images: dict[str, str], stopped: Callable[[], bool]) -> None:
    """Pull images, by service; one that cannot be is named, and whose it is."""
    for image in sorted(set(images.values())):
        try:
            _docker(["pull", "-q", image], stopped)
        except _Stopped:
            raise
        except ImagesMissing as failed:
            whose = sorted(service for service, name in images.items() if name == image)
            services = " and ".join(f"service '{service}'" for service in whose)
            raise ImagesMissing(
                f"{services}: image '{image}' is not here and cannot be pulled: {failed}"
            ) from None


def _docker(args: list[str], stopped: Callable[[], bool]) -> None:
    """Run Docker's command line; a failure raises the end of its output."""
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(
            # A build that outlives its run is in the way of the next one's.
            dying_with_parent(["docker", *args]),
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
        ) as process,
    ):
        while process.poll() is None:
            if stopped():
                process.terminate()
                raise _Stopped
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK)
        if process.returncode != 0:
            output.seek(0)
            said = output.read().decode(errors="replace")
            lines = [line for line in said.splitlines() if line.strip()]
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
def _one_at_a_time(names: dict[str, str], stopped: Callable[[], bool]) -> Iterator[None]:
    """Hold a lock that stands for these very images; the kernel drops a dead holder's."""
    digest = sha256(repr(sorted(names.values())).encode()).hexdigest()[:16]
    with open(state_root() / f".images-{digest}", "a") as file:
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if stopped():
                raise _Stopped
            time.sleep(_LOOK)
        yield


def _hash(build: dict[str, Any]) -> str:
    """Over the settings, the context's files, and a Dockerfile that is elsewhere."""
    context = Path(str(build.get("context", "")))
    # A folder may be anywhere: what is in it counts.
    settings = {**build, "context": "."} if context.is_dir() else build
    digest = sha256(json.dumps(settings, sort_keys=True).encode())
    dockerfile = context / str(build.get("dockerfile", "Dockerfile"))
    found = {path for path in context.rglob("*") if "__pycache__" not in path.parts}
    for path in sorted(path for path in {*found, dockerfile} if path.is_file()):
        mode = path.stat().st_mode & 0o777
        digest.update(f"{os.path.relpath(path, context)}\0{mode}\0".encode())
        digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]
