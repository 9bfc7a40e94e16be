"""A container of a test's own in which commands can be isolated, without a provider."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from inspect_ai.util import ExecResult

from control_tower.sandboxes.docker.bubblewrap import Bubblewrap, set_up
from control_tower.sandboxes.docker.compose import AGENTS_SERVICE
from control_tower.sandboxes.docker.engine import engine
from control_tower.sandboxes.docker.seccomp import with_isolation
from control_tower.sandboxes.system_path import SYSTEM_PATH

WORKSPACE = "/app"
_LABEL = "control-tower.test"


@dataclass
class Container:
    """One that runs, with a folder `/own` beside the workspace that is its agent's too."""

    container: Any
    agent: str
    wrapped: Bubblewrap | None = None
    powers: bool = True
    """Whether the engine gives its commands the powers that are asked for."""

    async def put(self, archive: bytes) -> None:
        """Unpack an archive in it."""
        await anyio.to_thread.run_sync(self.container.put_archive, "/", archive)

    async def run(self, cmd: list[str], user: str, *, privileged: bool = False) -> ExecResult[str]:
        """Run a command in it."""
        privileged = privileged and self.powers
        return await anyio.to_thread.run_sync(self.outside, cmd, user, "/", privileged)

    def isolate(self) -> Bubblewrap:
        """Set isolation up, as a sample's start does."""

        async def start() -> Bubblewrap:
            return await set_up(self, workspace=WORKSPACE, agent_user=self.agent)

        self.wrapped = anyio.run(start)
        return self.wrapped

    def outside(
        self,
        cmd: list[str],
        user: str | None = None,
        cwd: str = "/",
        privileged: bool = False,
    ) -> ExecResult[str]:
        """Run a command that is not isolated, as the agent if no user is named."""
        done = subprocess.run(
            [
                *("docker", "exec", "--user", user or self.agent, "--workdir", cwd),
                *("--env", f"PATH={SYSTEM_PATH}", *(["--privileged"] if privileged else [])),
                *(self.container.id, *cmd),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return ExecResult(done.returncode == 0, done.returncode, done.stdout, done.stderr)

    def inside(self, *cmd: str) -> ExecResult[str]:
        """Run an isolated command as the agent, in the workspace."""
        assert self.wrapped is not None
        return self.outside(self.wrapped.command(cmd), cwd=WORKSPACE)

    def inside_sh(self, script: str) -> ExecResult[str]:
        """Run an isolated script as the agent, in the workspace."""
        return self.inside("bash", "-c", script)


@contextlib.contextmanager
def container(
    agent: str,
    folder: Path,
    *,
    isolated: bool = True,
    mounts: Mapping[str, str] | None = None,
    **options: Any,
) -> Iterator[Container]:
    """A container with what isolation needs, or an ordinary one; gone afterwards.

    Args:
        agent: `root` or `agent`.
        folder: where files can be put on the host.
        isolated: whether it gets the security options of isolation.
        mounts: what of the host is mounted, by path in the container.
        options: more for the Docker client.
    """
    image = os.environ.get("CT_BASE_IMAGE", "debian:12-slim")
    with engine() as client:
        own = client.info().get("SecurityOptions") or []
        model = {"services": {AGENTS_SERVICE: {}}}
        if isolated:
            model = with_isolation(model, profile_file=folder / "seccomp.json", engine=own)
        security = model["services"][AGENTS_SERVICE].get("security_opt") or []
        made = client.containers.run(
            image,
            ["sleep", "infinity"],
            user="0:0",
            detach=True,
            init=True,
            network_mode="none",
            labels={_LABEL: "isolation"},
            security_opt=[_for_the_api(option) for option in security],
            volumes={host: {"bind": path} for path, host in (mounts or {}).items()},
            **options,
        )
        try:
            box = Container(made, agent)
            done = box.outside(["sh", "-c", _USERS, agent, WORKSPACE], "root")
            assert done.success, done.stderr
            yield box
        finally:
            made.remove(force=True, v=True)


_USERS = """
useradd --create-home agent && mkdir -p "$1" /own && chown "$0" "$1" /own
"""


def _for_the_api(option: str) -> str:
    name, _, value = option.partition("=")
    return f"{name}={Path(value).read_text()}" if name == "seccomp" else option
