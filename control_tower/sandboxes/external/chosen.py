"""`--sandbox TYPE`: a provider that is Inspect's, or a user's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem
from control_tower.sandboxes.chosen import Flags, Provision, SandboxChoice
from control_tower.sandboxes.external.config import ExternalConfig
from control_tower.sandboxes.external.types import INSPECT_DOCKER, NoSuchType, check_type
from control_tower.sandboxes.settings import SandboxSettings


@dataclass(frozen=True)
class ExternalChoice(SandboxChoice):
    """A registered type, or `module:type`."""

    def __post_init__(self) -> None:
        """Find the provider, and let it look at its arguments.

        Raises:
            UsageProblem: there is none, or it does not honour what is asked of it.
        """
        try:
            check_type(self.name)
        except NoSuchType as problem:
            raise UsageProblem(f"{self.flags('sandbox')}: {problem}") from problem.__cause__
        self._refuse_options_of_docker()
        self._check_arguments()

    @property
    @override
    def copies_source(self) -> bool:
        return True

    @property
    @override
    def asked(self) -> dict[str, Any]:
        """The provider's arguments."""
        from control_tower.sandboxes.external.arguments import as_json

        args: dict[str, Any] = json.loads(as_json(self.settings.args))
        return args

    @override
    def refuse_unfit(self, environment: Environment) -> None:
        """Nothing: whether the sandbox has what the environment needs, its set-up shows."""

    @override
    def provide(
        self, environments: Iterable[Environment], *, stopped: Callable[[], bool] = lambda: False
    ) -> Mapping[str, Provision]:
        """The sandbox of each environment's samples; takes no time."""
        from inspect_ai.util import SandboxEnvironmentSpec

        from control_tower.sandboxes.external.provider import NAME

        configs = {e.id: self._config(e) for e in environments}
        return {
            id: Provision(SandboxEnvironmentSpec(NAME, config)) for id, config in configs.items()
        }

    @override
    def _preflight(self, environments: list[Environment], samples_at_once: int) -> None:
        """What our own sandboxes left is removed; theirs are their own business."""
        from control_tower.sandboxes.leftovers import remove_leftovers

        remove_leftovers()

    def _config(self, environment: Environment) -> ExternalConfig:
        from control_tower.sandboxes.external.arguments import as_json

        return ExternalConfig(
            type=self.name,
            args=as_json(self.settings.args) if self.settings.args else "",
            workspace=environment.info.workspace,
            agent_user=environment.info.agent_user,
        )

    def _check_arguments(self) -> None:
        if not self.settings.args:
            return
        from control_tower.sandboxes.external.arguments import BadArguments, deserialized

        try:
            deserialized(self.name, self.asked)
        except BadArguments as problem:
            raise UsageProblem(f"{self.flags('sandbox_arg')}: {problem}") from problem.__cause__


@dataclass(frozen=True)
class InspectDockerChoice(ExternalChoice):
    """Inspect's own Docker provider, with the environment's compose file as its configuration."""

    @property
    @override
    def copies_source(self) -> bool:
        """The images that the compose file builds have it."""
        return False

    @override
    def refuse_unfit(self, environment: Environment) -> None:
        """Refuse one without a compose file."""
        if not environment.compose_file.is_file():
            raise UsageProblem(
                f"{self._chosen_by}: environment '{environment.id}' has no codebase/compose.yml"
            )

    @override
    def _preflight(self, environments: list[Environment], samples_at_once: int) -> None:
        from control_tower.sandboxes.docker.preflight import preflight

        preflight()
        super()._preflight(environments, samples_at_once)

    @override
    def _config(self, environment: Environment) -> ExternalConfig:
        """With the compose file resolved, so that the environment's arguments are in it."""
        from control_tower.sandboxes.docker.compose import resolved
        from control_tower.sandboxes.owners import own_directory

        model = resolved(environment.compose_file, environment.argument_variables)
        model.pop("name", None)  # each sample's project has its own
        for kind in ("networks", "volumes"):
            for entry in (model.get(kind) or {}).values():
                if entry and not entry.get("external"):
                    entry.pop("name", None)  # which holds the project's
        file = own_directory() / f"{environment.id}.inspect.compose.json"
        file.write_text(json.dumps(model), encoding="utf-8")
        return ExternalConfig(
            type=self.name,
            file=str(file),
            workspace=environment.info.workspace,
            agent_user=environment.info.agent_user,
        )

    @override
    def _check_arguments(self) -> None:
        self._refuse_arguments()


def external_choice(name: str, settings: SandboxSettings, *, flags: Flags) -> ExternalChoice:
    """The choice of a provider that is not ours.

    Raises:
        UsageProblem: there is none of that name, or it does not honour what is asked of it.
    """
    kind = InspectDockerChoice if name == INSPECT_DOCKER else ExternalChoice
    return kind(name, True, settings, flags)
