"""`--replay-sandbox`: no sandbox; calls are answered from recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from typing_extensions import override

from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem
from control_tower.sandboxes.chosen import Provision, SandboxChoice

NAME = "replay"
"""What headers and trajectories call it."""


@dataclass(frozen=True)
class ReplayedChoice(SandboxChoice):
    """Nothing is provisioned, so any environment fits and nothing can be missing."""

    def __post_init__(self) -> None:
        """Refuse options about a sandbox, since there is none.

        Raises:
            UsageProblem: for those; it names both flags.
        """
        asked = [self.flags("sandbox")] if self.explicit else []
        asked += [self.flags(key) for key in sorted(self.settings.given)]
        asked += [self.flags("sandbox_arg")] if self.settings.args else []
        if asked:
            raise UsageProblem(
                f"{self.flags('replay_sandbox')} provisions nothing, so {' and '.join(asked)} "
                f"cannot go with it; leave out one of them"
            )

    @property
    @override
    def is_there(self) -> bool:
        return False

    @override
    def refuse_unfit(self, environment: Environment) -> None:
        """Any environment fits."""

    @override
    def provide(
        self, environments: Iterable[Environment], *, stopped: Callable[[], bool] = lambda: False
    ) -> Mapping[str, Provision]:
        """No sandbox for any environment."""
        return {environment.id: Provision(None) for environment in environments}

    @override
    def _preflight(self, environments: list[Environment], samples_at_once: int) -> None:
        """Nothing of this machine is needed."""
