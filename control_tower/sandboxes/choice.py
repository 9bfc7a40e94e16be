"""Which sandbox a run uses."""

from __future__ import annotations

from control_tower.sandboxes.bwrap.chosen import BwrapChoice
from control_tower.sandboxes.chosen import Flags, SandboxChoice
from control_tower.sandboxes.docker.chosen import DockerChoice
from control_tower.sandboxes.external.chosen import external_choice
from control_tower.sandboxes.replayed import NAME as REPLAYED
from control_tower.sandboxes.replayed import ReplayedChoice
from control_tower.sandboxes.settings import SandboxSettings


def choose_sandbox(
    name: str | None, settings: SandboxSettings, *, flags: Flags, replayed: bool = False
) -> SandboxChoice:
    """The choice that `name` makes; None is the default, docker.

    Inspect is imported only for a name that is neither ours nor like one of ours.

    Args:
        name: docker, bwrap, inspect-docker, a type that is registered with Inspect, or
            `module:type`.
        settings: what is asked of it.
        flags: how the user spells options, for messages.
        replayed: whether calls are answered from recordings, so that there is none.

    Raises:
        UsageProblem: for an unknown name, or for settings that the sandbox does not honour.
    """
    explicit = name is not None
    if replayed:
        return ReplayedChoice(REPLAYED, explicit, settings, flags)
    if name is None or name == "docker":
        return DockerChoice("docker", explicit, settings, flags)
    if name == "bwrap":
        return BwrapChoice("bwrap", explicit, settings, flags)
    return external_choice(name, settings, flags=flags)
