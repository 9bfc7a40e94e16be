"""Whether a sample's containers are fit for the agent, before it can have done anything there."""

from __future__ import annotations

from typing import ClassVar

from control_tower.sandboxes.docker.agent import Agent
from control_tower.sandboxes.docker.bubblewrap import set_up
from control_tower.sandboxes.docker.commands import CommandTimeout
from control_tower.sandboxes.docker.compose import AGENTS_SERVICE
from control_tower.sandboxes.docker.config import DockerConfig
from control_tower.sandboxes.docker.execution import ContainerUnavailable
from control_tower.sandboxes.docker.failing import StartFailure
from control_tower.sandboxes.docker.place import Place
from control_tower.sandboxes.docker.sample import Sample
from control_tower.sandboxes.errors import SandboxStartError
from control_tower.sandboxes.system_path import SYSTEM_PATH

_PACKAGES = {"bash": "bash", "nsenter": "util-linux", "setpriv": "util-linux"}
"""By program, of those that are not in coreutils."""
_NEEDED = ("cat", "head", "id", "mkdir")
_NEEDED_TO_ISOLATE = ("chown", "nsenter", "readlink", "rm", "setpriv", "sleep")

_MISSING = 71
_LOOK = f"""
user=$0 workspace=$1 path=$2
shift 2
look() {{ command -v "$1" >/dev/null || missing="$missing $1"; }}
missing=
look bash
PATH=$path
for name; do look "$name"; done
if [ -z "$missing" ]; then
    uid=$(id -u "$user") && name=$(id -un "$user") && cd "$workspace" || exit 1
    [ "$uid" = 0 ] || look setpriv
fi
[ -z "$missing" ] || {{ echo "$missing"; exit {_MISSING}; }}
echo "$uid"
echo "$name"
"""
"""Run as root with the image's own path, where the agent's tools look for bash. What is said of the
agent's user is its number and its name, or which programs are missing."""


class Readiness:
    """Looks at one sample once it is up, and sets up what its agent is confined by."""

    _fit: ClassVar[dict[DockerConfig, frozenset[str]]] = {}
    """Those whose images have what is needed, with the names of the agent's user: all samples have
    the same ones."""

    def __init__(self, config: DockerConfig) -> None:
        self._config = config
        self._agent: Agent | None = None

    @property
    def agent(self) -> Agent:
        """What is known of the sample's agent, once `probe` has found nothing wrong."""
        assert self._agent is not None
        return self._agent

    async def probe(self, sample: Sample) -> str | None:
        """What is wrong and will be so again, or None.

        Raises:
            docker.errors.APIError: the engine refuses.
            StartFailure: the engine did not answer in time, which may pass.
        """
        config, place = self._config, Place(sample.calls, sample.containers[AGENTS_SERVICE])
        user, workspace = config.agent_user, config.workspace
        try:
            names = self._fit.get(config) or await self._names(place)
            confinement = (
                await set_up(place, workspace=workspace, agent_user=user)
                if config.isolation
                else None
            )
        except SandboxStartError as error:
            return str(error)
        except (ContainerUnavailable, CommandTimeout) as error:
            raise StartFailure(str(error), passing=True) from error
        self._fit[config] = names
        self._agent = Agent(user, names, workspace, confinement)
        return None

    async def _names(self, place: Place) -> frozenset[str]:
        """The names of the agent's user.

        Raises:
            SandboxStartError: the image has no such user, or lacks something else.
        """
        user, workspace = self._config.agent_user, self._config.workspace
        programs = (*_NEEDED, *(_NEEDED_TO_ISOLATE if self._config.isolation else ()))
        look = ["/bin/sh", "-c", _LOOK, user, workspace, SYSTEM_PATH, *programs]
        done = await place.run(look, "root", env={})
        if done.success:
            return frozenset((user, *done.stdout.split()))
        image = f"the image of service '{AGENTS_SERVICE}'"
        if done.returncode == _MISSING:
            missing = done.stdout.split()
            packages = sorted({_PACKAGES.get(name, "coreutils") for name in missing})
            raise SandboxStartError(
                f"{image} has no {', no '.join(missing)}; install {' and '.join(packages)} in it"
            )
        said = " ".join(done.stderr.split())
        if '"/bin/sh"' in said:  # the engine's words
            raise SandboxStartError(f"{image} has no /bin/sh, which every sample needs: {said}")
        raise SandboxStartError(
            f"{image} does not have the agent's user '{user}' and the workspace {workspace}: {said}"
        )
