"""A container that lives for a moment, to do something on the engine's host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from control_tower.sandboxes.docker.engine import OWNER_LABEL

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

_LONGEST = 60
"""Seconds."""
_MISSING = 127
"""Exit code that a shell gives when there is no such program."""


class ErrandFailed(Exception):
    """Its command did; the message is what it wrote to standard error, in one line."""

    def __init__(self, exit_code: int, said: str) -> None:
        super().__init__(" ".join(said.split()) or f"exit code {exit_code}")
        self.exit_code = exit_code


class ProgramMissing(ErrandFailed):
    """The image does not have the program."""


def run_errand(
    client: DockerClient, image: str, program: str, *args: str, owner: str, **settings: Any
) -> str:
    """What a program prints, run as root in the host's network; nothing of its container is left.

    Args:
        client: of the engine.
        image: one that the engine has; it is never pulled.
        program: one of the image.
        args: of the program.
        owner: value of `OWNER_LABEL`: whose it is if this process is killed meanwhile.
        settings: more of the container, as docker's client library takes them.

    Raises:
        ErrandFailed: the program ended with another exit code than 0, or (`ProgramMissing`) the
            image does not have it.
        docker.errors.DockerException: the engine refuses; `ImageNotFound` if it lacks the image.
    """
    container = client.containers.create(
        image,
        list(args),
        entrypoint=[program],
        user="0:0",
        working_dir="/",
        network_mode="host",
        labels={OWNER_LABEL: owner},
        **settings,
    )
    try:
        _start(container, image, program)
        code = int(container.wait(timeout=_LONGEST)["StatusCode"])
        if code != 0:
            said: bytes = container.logs(stdout=False, stderr=True)
            raise ErrandFailed(code, said.decode(errors="replace"))
        printed: bytes = container.logs(stdout=True, stderr=False)
    finally:
        container.remove(force=True, v=True)
    return printed.decode(errors="replace")


def _start(container: Container, image: str, program: str) -> None:
    from docker.errors import APIError

    try:
        container.start()
    except APIError as error:
        said = str(error.explanation)
        if "executable file not found" in said or "no such file or directory" in said:
            raise ProgramMissing(_MISSING, f"image {image} has no program {program}") from None
        raise
