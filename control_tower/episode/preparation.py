"""Set-up inside a fresh sandbox: task files, set-up scripts, services."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from control_tower.environments.model import Environment, Service
from control_tower.sandboxes.isolation import agents_own
from control_tower.selection import Combination

if TYPE_CHECKING:
    from inspect_ai.util import SandboxEnvironment

SCRIPT_TIMEOUT = 300
"""Seconds a task's set-up script may take."""
COPY_TIMEOUT = 120
"""Seconds that copying the code base may take."""
START_TIMEOUT = 120
"""Seconds a service's start command may take."""
_POLL = 0.2


class PreparationError(RuntimeError):
    """The environment could not be made ready; the message says which step failed and how."""


async def prepare(combination: Combination, *, copies_source: bool = False) -> None:
    """Copy the tasks' files, run their set-up scripts, start the services and wait for them.

    Args:
        combination: whose.
        copies_source: whether the sandbox has not got the environment's code base yet; then it is
            copied first.

    The environment's arguments are in the variables `CT_ARG_…` of scripts and services. The main
    task's files and script come before the side task's.

    Raises:
        PreparationError: if a script or service fails or is not ready in time.
    """
    from inspect_ai.util import sandbox

    environment = combination.environment
    box = sandbox()
    variables = environment.argument_variables
    if copies_source:
        await copy_source(box, environment)
    for task in (combination.main_task, combination.side_task):
        if task is None:
            continue
        if task.files is not None:
            await _copy(box, task.files, environment.info.workspace)
        if task.setup is not None:
            script = task.setup.read_text(encoding="utf-8")
            what = f"set-up of task '{task.id}'"
            await _run(box, script, what, variables, timeout=SCRIPT_TIMEOUT)
    for name, service in environment.info.services.items():
        await _start(box, environment, name, service)


async def copy_source(box: SandboxEnvironment, environment: Environment) -> None:
    """Put the environment's code base into the workspace, as the agent's own files.

    Permissions and links are kept. The sandbox needs the program `tar`.

    Raises:
        PreparationError: it cannot be unpacked there.
    """
    what = f"the code base of '{environment.id}'"
    packed = await anyio.to_thread.run_sync(_packed, environment.source)
    try:
        done = await box.exec(
            ["tar", "-xof", "-"], input=packed, timeout=COPY_TIMEOUT, timeout_retry=False
        )
    except TimeoutError:
        raise PreparationError(f"{what} was not copied within {COPY_TIMEOUT} s") from None
    except FileNotFoundError as error:
        raise PreparationError(f"{what} cannot be copied: {error}") from None
    if not done.success:
        said = done.stderr.strip()[-2000:]
        raise PreparationError(f"{what} cannot be copied to {environment.info.workspace}: {said}")


def _packed(folder: Path) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path in sorted(folder.iterdir()):
            tar.add(path, arcname=path.name)
    return archive.getvalue()


async def _copy(box: SandboxEnvironment, files: Path, workspace: str) -> None:
    for path in _files_below(files):
        target = f"{workspace}/{path.relative_to(files).as_posix()}"
        await box.write_file(target, path.read_bytes())
        if path.stat().st_mode & 0o111:
            await box.exec(["chmod", "+x", target])


def _files_below(directory: Path) -> Iterator[Path]:
    return (path for path in sorted(directory.rglob("*")) if path.is_file())


async def _run(
    box: SandboxEnvironment, script: str, what: str, variables: dict[str, str], *, timeout: int
) -> None:
    try:
        result = await box.exec(
            ["sh", "-s"], input=script, env=variables, timeout=timeout, timeout_retry=False
        )
    except TimeoutError:
        raise PreparationError(f"{what} did not finish within {timeout} s") from None
    if not result.success:
        tail = (result.stderr.strip() or result.stdout.strip())[-2000:]
        raise PreparationError(f"{what} failed (exit {result.returncode}): {tail}")


async def _start(
    box: SandboxEnvironment, environment: Environment, name: str, service: Service
) -> None:
    what = f"service '{name}' of '{environment.id}'"
    with agents_own():  # who may end and restart it
        if service.start is not None:
            variables = environment.argument_variables
            await _run(box, service.start, f"start of {what}", variables, timeout=START_TIMEOUT)
        if service.ready is not None:
            await _wait_until_ready(box, environment, service, what)


async def _wait_until_ready(
    box: SandboxEnvironment, environment: Environment, service: Service, what: str
) -> None:
    complaint = ""
    with anyio.move_on_after(service.ready_timeout):
        while True:
            result = await box.exec(
                ["sh", "-c", service.ready or "true"],
                env=environment.argument_variables,
                timeout_retry=False,
            )
            if result.success:
                return
            complaint = (result.stderr.strip() or result.stdout.strip())[-500:]
            await anyio.sleep(_POLL)
    raise PreparationError(f"{what} was not ready within {service.ready_timeout} s: {complaint}")
