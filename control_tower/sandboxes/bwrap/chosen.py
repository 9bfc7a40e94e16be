"""`--sandbox bwrap`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import override

from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem
from control_tower.sandboxes.chosen import Provision, SandboxChoice

if TYPE_CHECKING:
    from control_tower.sandboxes.bwrap.config import BwrapConfig


@dataclass(frozen=True)
class BwrapChoice(SandboxChoice):
    """Namespaces of this host, for environments that are portable."""

    def __post_init__(self) -> None:
        """Refuse options that it does not honour.

        Raises:
            UsageProblem: for those.
        """
        self._refuse_options_of_docker()
        self._refuse_arguments()

    @override
    def refuse_unfit(self, environment: Environment) -> None:
        """Refuse one that is not portable, or whose workspace cannot be mounted."""
        if environment.info.portable is False:
            raise UsageProblem(
                f"{self._chosen_by}: environment '{environment.id}' is not portable; "
                f"it needs {self.flags('sandbox')} docker"
            )
        from pydantic import ValidationError

        try:
            _config(environment)
        except ValidationError as error:
            said = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise UsageProblem(
                f"{self._chosen_by}: environment '{environment.id}': {said}"
            ) from None

    @override
    def provide(
        self, environments: Iterable[Environment], *, stopped: Callable[[], bool] = lambda: False
    ) -> Mapping[str, Provision]:
        """The sandbox of each environment's samples; takes no time."""
        from inspect_ai.util import SandboxEnvironmentSpec

        from control_tower.sandboxes.bwrap.provider import NAME

        return {e.id: Provision(SandboxEnvironmentSpec(NAME, _config(e))) for e in environments}

    @override
    def _preflight(self, environments: list[Environment], samples_at_once: int) -> None:
        from control_tower.sandboxes.bwrap.preflight import preflight
        from control_tower.sandboxes.leftovers import remove_leftovers

        preflight({e.id: tuple(e.info.portable or ()) for e in environments})
        remove_leftovers()


def _config(environment: Environment) -> BwrapConfig:
    from control_tower.sandboxes.bwrap.config import BwrapConfig

    return BwrapConfig(
        source=str(environment.source),
        workspace=environment.info.workspace,
        network=environment.info.network == "internet",
        programs=tuple(environment.info.portable or ()),
        hidden=(str(environment.directory),),
    )
