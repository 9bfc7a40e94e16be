"""Which sandbox a run uses, and whether this machine and its environments allow it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem, unknown_name
from control_tower.sandboxes.errors import EnvironmentRefused, SandboxRefused

if TYPE_CHECKING:
    from inspect_ai.util import SandboxEnvironmentSpec

    from control_tower.sandboxes.bwrap.config import BwrapConfig

SandboxName = Literal["docker", "bwrap"]
NAMES: tuple[SandboxName, ...] = ("docker", "bwrap")


@dataclass(frozen=True)
class Provision:
    """What the samples of an environment run in."""

    spec: SandboxEnvironmentSpec
    problem: str | None = None
    """Why none of them can start, if that is known; each ends at its start with these words."""


@dataclass(frozen=True)
class SandboxChoice:
    """A sandbox by name, and whether the user chose it."""

    name: SandboxName
    explicit: bool

    @property
    def provides(self) -> str:
        """What `provide` does that takes time; empty if it takes none."""
        return "making images" if self.name == "docker" else ""

    def refuse_unfit(self, environment: Environment, *, flag: str) -> None:
        """Refuse an environment that this sandbox cannot hold; touches no engine.

        Raises:
            UsageProblem: in one line.
        """
        if self.name == "docker":
            if not environment.compose_file.is_file():
                raise UsageProblem(
                    f"{flag} docker: environment '{environment.id}' has no codebase/compose.yml"
                )
            return
        if environment.info.portable is False:
            raise UsageProblem(
                f"{flag} bwrap: environment '{environment.id}' is not portable; "
                f"it needs {flag} docker"
            )
        from pydantic import ValidationError

        try:
            _bwrap_config(environment)
        except ValidationError as error:
            said = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise UsageProblem(f"{flag} bwrap: environment '{environment.id}': {said}") from None

    def preflight(
        self, environments: Iterable[Environment], *, flag: str, samples_at_once: int
    ) -> None:
        """Make sure this machine can run the sandbox, and remove what killed runs left.

        Raises:
            UsageProblem: in one line that says what is missing and the way out.
        """
        try:
            if self.name == "docker":
                _preflight_docker(list(environments), samples_at_once)
            else:
                _preflight_bwrap(environments)
        except SandboxRefused as refusal:
            raise UsageProblem(self._refusal(refusal, flag)) from None
        except OSError as error:
            raise UsageProblem(
                f"{flag} {self.name}: cannot use the state directory: {error}"
            ) from None

    def provide(
        self, environments: Iterable[Environment], *, stopped: Callable[[], bool] = lambda: False
    ) -> Mapping[str, Provision]:
        """The sandbox of each environment's samples, by environment id.

        Blocks while images are built; one that cannot be built fails that environment's samples
        when they start, and nothing else.

        Args:
            environments: whose samples are to run.
            stopped: whether the run is stopped meanwhile; then it returns as soon as it can.

        Raises:
            SandboxRefused: the state directory or a compose file cannot be used.
        """
        from inspect_ai.util import SandboxEnvironmentSpec

        if self.name == "bwrap":
            from control_tower.sandboxes.bwrap import provider as bwrap

            configs = {e.id: _bwrap_config(e) for e in environments}
            specs = {id: SandboxEnvironmentSpec(bwrap.NAME, c) for id, c in configs.items()}
            return {id: Provision(spec) for id, spec in specs.items()}
        from control_tower.sandboxes.docker import provider as docker
        from control_tower.sandboxes.docker.environment import docker_config

        built = {e.id: docker_config(e, stopped=stopped) for e in environments}
        return {
            id: Provision(SandboxEnvironmentSpec(docker.NAME, config), config.problem)
            for id, config in built.items()
        }

    def _refusal(self, reason: SandboxRefused, flag: str) -> str:
        of_machine = not isinstance(reason, EnvironmentRefused)
        if self.name == "docker" and not self.explicit and of_machine:
            return f"{reason}; or run portable environments without Docker: {flag} bwrap"
        return f"{flag} {self.name}: {reason}"


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


def compose_problems(environment: Environment) -> list[str]:
    """What `docker compose`, and we, do not accept of an environment's compose file.

    Nothing where there is no compose file, or no `docker compose` to read it with; no engine is
    needed.
    """
    from control_tower.sandboxes.docker.compose import resolved
    from control_tower.sandboxes.docker.preflight import check_client
    from control_tower.sandboxes.docker.unfit import unfit

    file = environment.compose_file
    try:
        check_client()
        model = resolved(file, environment.argument_variables) if file.is_file() else None
    except EnvironmentRefused as error:
        return [str(error).removeprefix(f"{file}: ")]
    except SandboxRefused:
        return []
    internet = environment.info.network == "internet"
    return list(unfit(model, internet=internet)) if model else []


def _bwrap_config(environment: Environment) -> BwrapConfig:
    from control_tower.sandboxes.bwrap.config import BwrapConfig

    return BwrapConfig(
        source=str(environment.source),
        workspace=environment.info.workspace,
        network=environment.info.network == "internet",
        programs=tuple(environment.info.portable or ()),
        hidden=(str(environment.directory),),
    )


def _preflight_bwrap(environments: Iterable[Environment]) -> None:
    from control_tower.sandboxes.bwrap.preflight import preflight
    from control_tower.sandboxes.leftovers import remove_leftovers

    preflight({e.id: tuple(e.info.portable or ()) for e in environments})
    remove_leftovers()


def _preflight_docker(environments: list[Environment], samples_at_once: int) -> None:
    from docker.errors import DockerException

    from control_tower.sandboxes.docker.compose import networks_of, resolved
    from control_tower.sandboxes.docker.leftovers import remove_ownerless
    from control_tower.sandboxes.docker.preflight import check_room, preflight
    from control_tower.sandboxes.docker.unfit import refuse_unfit
    from control_tower.sandboxes.leftovers import remove_leftovers

    preflight()
    remove_leftovers()
    try:
        remove_ownerless()
    except DockerException as error:
        raise SandboxRefused(f"the Docker engine fails: {error}") from None
    networks = 0
    for environment in environments:
        model = resolved(environment.compose_file, environment.argument_variables)
        internet = environment.info.network == "internet"
        refuse_unfit(environment.compose_file, model, internet=internet)
        networks = max(networks, networks_of(model, internet=internet))
    if networks:
        check_room(samples_at_once, networks)
