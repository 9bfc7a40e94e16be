"""What a sample in a sandbox that is not ours is made from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import BaseModel

if TYPE_CHECKING:
    from inspect_ai.util import SandboxEnvironmentConfigType


class ExternalConfig(BaseModel, frozen=True):
    """One sample; frozen, so that Inspect can hash it."""

    type: str
    """As `--sandbox` names it: a registered type, `module:type`, or `inspect-docker`."""

    file: str | None = None
    """Path of the file that is its configuration; None if there is no such file."""

    args: str = ""
    """JSON of the arguments that are its configuration; empty if there are none."""

    workspace: str
    """Absolute path in the sandbox: where commands start and relative paths begin."""

    agent_user: str
    """Commands run as this user, if the sandbox has it and can do that."""

    def theirs(self) -> SandboxEnvironmentConfigType | None:
        """The configuration that the provider gets; None if it gets none."""
        from control_tower.sandboxes.external.arguments import deserialized

        if self.file is not None:
            return self.file
        return deserialized(self.type, json.loads(self.args)) if self.args else None
