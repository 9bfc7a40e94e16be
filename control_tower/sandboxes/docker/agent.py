"""What is known of the agent in its container once that is up."""

from __future__ import annotations

from dataclasses import dataclass

from inspect_ai.util import SandboxUserUnsupportedError

from control_tower.sandboxes.docker.bubblewrap import Bubblewrap


@dataclass(frozen=True)
class Agent:
    """As whom, where and how confined the agent works."""

    user: str
    """Name or number, as the environment has it."""

    names: frozenset[str]
    """The same user's name and number."""

    workspace: str
    """Absolute path."""

    confinement: Bubblewrap | None = None
    """What its own commands run in, where it is isolated."""

    def check_user(self, user: str | None) -> None:
        """Refuse an isolated command of the agent's own that is to run as somebody else.

        Args:
            user: whom it names, if anybody.

        Raises:
            SandboxUserUnsupportedError: another user than the agent's.
        """
        if user and user not in self.names:
            raise SandboxUserUnsupportedError(
                f"a tool of the agent's is to run as '{user}', and isolation confines only what "
                f"runs as the agent's user '{self.user}': give the agent tools that name no user "
                "(Inspect's bash_session and text_editor name root), or leave isolation out"
            )
