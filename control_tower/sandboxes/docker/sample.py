"""What of a sample runs in the engine."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from control_tower.sandboxes.docker.calls import EngineCalls


@dataclass(frozen=True)
class Sample:
    """A sample's containers; removing them is its owner's business."""

    name: str
    """What the names of its containers, networks and volumes start with: `ct-<token>`."""

    calls: EngineCalls
    """Of the engine that they run in."""

    containers: Mapping[str, str]
    """Container id by service, of those that were started."""

    remover: Callable[[], Awaitable[None]]

    async def remove(self) -> None:
        """Remove its containers, networks and volumes at once; what is gone is no error.

        Cancelling does not stop it.

        Raises:
            docker.errors.APIError: the engine refuses.
        """
        await self.remover()
