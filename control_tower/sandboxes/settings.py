"""What the options of a run ask of its sandboxes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from control_tower.options import STARTUP_RETRIES
from control_tower.run_options import RunOptions

OF_DOCKER = (
    "startup_retries",
    "no_internet",
    "no_intranet",
    "network_control",
    "sandbox_isolation",
)
"""Keys of the options that only our Docker sandbox honours."""


class SandboxSettings(BaseModel):
    """What a sandbox is to be like, beside what its environment says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    startup_retries: int = STARTUP_RETRIES
    """How often a start-up that failed for a passing reason is tried again; 0 is never."""

    no_internet: bool = False
    """The agent reaches nothing outside, whatever its environment says."""

    no_intranet: bool = False
    """The agent reaches none of its environment's other services."""

    network_control: bool = False
    """The agent's container gets NET_ADMIN, and no rule at its start."""

    isolation: bool = False
    """Every command of the agent runs in bubblewrap inside of its container."""

    args: tuple[str, ...] = ()
    """`key=value` texts for a sandbox that is Inspect's or the user's own."""

    given: frozenset[str] = frozenset()
    """Of `OF_DOCKER`, the keys of the options that the user set."""

    @classmethod
    def of(cls, options: RunOptions) -> SandboxSettings:
        """What the options of a run say."""
        retries = options.startup_retries
        return cls(
            startup_retries=STARTUP_RETRIES if retries is None else retries,
            no_internet=options.no_internet,
            no_intranet=options.no_intranet,
            network_control=options.network_control,
            isolation=options.sandbox_isolation,
            args=options.sandbox_arg,
            given=frozenset(key for key in OF_DOCKER if _is_set(getattr(options, key))),
        )


def _is_set(value: object) -> bool:
    return value is not None and value is not False
