"""Which sandbox a run uses, and whether this machine and its environments allow it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem, unknown_name

if TYPE_CHECKING:
    from inspect_ai.util import SandboxEnvironmentSpec

    from control_tower.sandboxes.bwrap.config import BwrapConfig

SandboxName = Literal["docker", "bwrap"]
NAMES: tuple[SandboxName, ...] = ("docker", "bwrap")


@dataclass(frozen=True)
class SandboxChoice:
    """A sandbox by name, and whether the user chose it."""

    name: SandboxName
    explicit: bool

    def refuse_unfit(self, environment: Environment, *, flag: str) -> None:
        """Refuse an environment that this sandbox cannot hold; touches no engine.

        Raises:
            UsageProblem: in one line.
        """
        if self.name == "bwrap" and environment.info.portable is False:
            raise UsageProblem(
                f"{flag} bwrap: environment '{environment.id}' is not portable; "
                f"it needs {flag} docker"
            )
        if self.name == "bwrap":
            from pydantic import ValidationError

            try:
                _bwrap_config(environment)
            except ValidationError as error:
                said = error.errors()[0]["msg"].removeprefix("Value error, ")
                raise UsageProblem(
                    f"{flag} bwrap: environment '{environment.id}': {said}"
                ) from None

    def preflight(self, environments: Iterable[Environment], *, flag: str) -> None:
        """Make sure this machine can run the sandbox.

        Raises:
            UsageProblem: in one line that says what is missing and the way out.
        """
        if self.name == "docker":
            raise UsageProblem(_docker_refusal(self.explicit, flag))
        from control_tower.sandboxes.bwrap.leftovers import remove_leftovers
        from control_tower.sandboxes.bwrap.preflight import preflight
        from control_tower.sandboxes.errors import SandboxRefused

        programs = {e.id: tuple(e.info.portable or ()) for e in environments}
        try:
            preflight(programs)
            remove_leftovers()
        except SandboxRefused as refusal:
            raise UsageProblem(f"{flag} bwrap: {refusal}") from None
        except OSError as error:
            raise UsageProblem(f"{flag} bwrap: cannot use the state directory: {error}") from None

    def spec(self, environment: Environment) -> SandboxEnvironmentSpec:
        """The Inspect sandbox of a sample of `environment`."""
        from inspect_ai.util import SandboxEnvironmentSpec

        from control_tower.sandboxes.bwrap import provider

        return SandboxEnvironmentSpec(provider.NAME, _bwrap_config(environment))


def choose_sandbox(name: str | None, *, flag: str) -> SandboxChoice:
    """The choice that `name` makes; None is the default, docker.

    Raises:
        UsageProblem: for an unknown name.
    """
    wanted = "docker" if name is None else name
    for known in NAMES:
        if known == wanted:
            return SandboxChoice(known, explicit=name is not None)
    raise unknown_name("sandbox", str(name), NAMES, flag=flag)


def _bwrap_config(environment: Environment) -> BwrapConfig:
    from control_tower.sandboxes.bwrap.config import BwrapConfig

    return BwrapConfig(
        source=str(environment.source),
        workspace=environment.info.workspace,
        network=environment.info.network == "internet",
        programs=tuple(environment.info.portable or ()),
        hidden=(str(environment.directory),),
    )


def _docker_refusal(explicit: bool, flag: str) -> str:
    if explicit or _engine_answers():
        return f"{flag} docker comes next; use {flag} bwrap for portable environments"
    return (
        f"no Docker engine answers here, and docker is the default sandbox (it comes next): run "
        f"portable environments with {flag} bwrap; for an engine, install Docker Engine 24 or newer"
    )


def _engine_answers() -> bool:
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=5)
    except DockerException:
        return False
    try:
        return bool(client.ping())
    except (DockerException, OSError):
        return False
    finally:
        client.close()
