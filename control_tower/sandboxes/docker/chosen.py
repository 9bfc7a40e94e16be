"""`--sandbox docker`, the default."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem
from control_tower.sandboxes.chosen import Provision, SandboxChoice
from control_tower.sandboxes.errors import EnvironmentRefused, SandboxRefused

if TYPE_CHECKING:
    from control_tower.sandboxes.docker.reach import Reach


@dataclass(frozen=True)
class DockerChoice(SandboxChoice):
    """Containers of a Docker engine."""

    def __post_init__(self) -> None:
        """Refuse options that it does not honour.

        Raises:
            UsageProblem: for those.
        """
        self._refuse_arguments()

    @property
    @override
    def provides(self) -> str:
        return "making images"

    @override
    def refuse_unfit(self, environment: Environment) -> None:
        """Refuse one without a compose file."""
        if not environment.compose_file.is_file():
            raise UsageProblem(
                f"{self._chosen_by}: environment '{environment.id}' has no codebase/compose.yml"
            )

    @override
    def provide(
        self, environments: Iterable[Environment], *, stopped: Callable[[], bool] = lambda: False
    ) -> Mapping[str, Provision]:
        """The sandbox of each environment's samples; blocks while images are built."""
        from inspect_ai.util import SandboxEnvironmentSpec

        from control_tower.sandboxes.docker.environment import docker_config
        from control_tower.sandboxes.docker.provider import NAME

        built = {e.id: docker_config(e, self.settings, stopped=stopped) for e in environments}
        return {
            id: Provision(SandboxEnvironmentSpec(NAME, config), config.problem)
            for id, config in built.items()
        }

    @override
    def _preflight(self, environments: list[Environment], samples_at_once: int) -> None:
        from docker.errors import DockerException

        from control_tower.sandboxes.docker.leftovers import remove_ownerless
        from control_tower.sandboxes.docker.preflight import preflight
        from control_tower.sandboxes.leftovers import remove_leftovers

        self._check_variables()
        preflight()
        remove_leftovers()
        try:
            remove_ownerless()
        except DockerException as error:
            raise SandboxRefused(f"the Docker engine fails: {error}") from None
        self._check_environments(environments, samples_at_once)

    def _check_variables(self) -> None:
        """Refuse values of environment variables that mean nothing.

        Raises:
            UsageProblem: for the first of those.
        """
        from control_tower.sandboxes.docker.bubblewrap_files import host_binary
        from control_tower.sandboxes.docker.preflight import check_variables

        try:
            check_variables()
        except SandboxRefused as refusal:
            raise UsageProblem(str(refusal)) from None
        if self.settings.isolation:
            try:
                host_binary()
            except SandboxRefused as refusal:
                raise UsageProblem(f"{self.flags('sandbox_isolation')}: {refusal}") from None

    def _check_environments(self, environments: list[Environment], samples_at_once: int) -> None:
        """Refuse compose files that do not fit, and more networks than the engine has room for."""
        from control_tower.sandboxes.docker.compose import resolved
        from control_tower.sandboxes.docker.preflight import check_room
        from control_tower.sandboxes.docker.reach import networks_needed, with_reach
        from control_tower.sandboxes.docker.unfit import refuse_unfit

        networks = 0
        for environment in environments:
            file = environment.compose_file
            model = resolved(file, environment.argument_variables)
            internet = environment.info.network == "internet"
            refuse_unfit(file, model, isolation=self.settings.isolation)
            try:
                shaped = with_reach(model, internet=internet, reach=self._reach(), bridges="")
            except EnvironmentRefused as refusal:
                raise EnvironmentRefused(f"{file}: {refusal}") from None
            networks = max(networks, networks_needed(shaped))
        if networks:
            check_room(samples_at_once, networks)

    def _reach(self) -> Reach:
        from control_tower.sandboxes.docker.reach import Reach

        return Reach(
            no_internet=self.settings.no_internet,
            no_intranet=self.settings.no_intranet,
            network_control=self.settings.network_control,
        )

    @override
    def _refusal(self, reason: SandboxRefused) -> str:
        of_machine = not isinstance(reason, EnvironmentRefused)
        if not self.explicit and of_machine:
            bwrap = f"{self.flags('sandbox')} bwrap"
            return f"{reason}; or run portable environments without Docker: {bwrap}"
        return super()._refusal(reason)


def compose_problems(environment: Environment) -> list[str]:
    """What `docker compose`, and we, do not accept of an environment's compose file.

    Nothing where there is no compose file, or no `docker compose` to read it with; no engine is
    needed.
    """
    from control_tower.sandboxes.docker.compose import resolved
    from control_tower.sandboxes.docker.preflight import check_client
    from control_tower.sandboxes.docker.reach import Reach, unreachable
    from control_tower.sandboxes.docker.unfit import unfit

    file = environment.compose_file
    try:
        check_client()
        model = resolved(file, environment.argument_variables) if file.is_file() else None
    except EnvironmentRefused as error:
        return [str(error).removeprefix(f"{file}: ")]
    except SandboxRefused:
        return []
    if model is None:
        return []
    return list(unfit(model, file.parent)) or list(unreachable(model, Reach()))
