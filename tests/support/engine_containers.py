"""Bare containers for tests of what the engine is asked, without an environment."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from control_tower.sandboxes.docker.calls import EngineCalls, engine_calls

LABEL = {"control-tower.test": "engine"}


def image() -> str:
    """The image that the tests' containers have."""
    return os.environ.get("CT_BASE_IMAGE", "debian:12-slim")


@asynccontextmanager
async def running(
    *, image_name: str | None = None, host: dict[str, Any] | None = None, **body: Any
) -> AsyncIterator[tuple[EngineCalls, str]]:
    """The engine's calls, and a running container that is gone afterwards.

    Args:
        image_name: its image; the tests' own by default.
        host: its `HostConfig`, over one without a network.
        body: more of the body that creates it.
    """
    calls = engine_calls()
    whole = {
        "Image": image_name or image(),
        "Cmd": ["sleep", "infinity"],
        "Labels": LABEL,
        "HostConfig": {"NetworkMode": "none", "Init": True, **(host or {})},
        **body,
    }
    container = await calls.create_container(whole, f"ct-test-{os.urandom(6).hex()}")
    try:
        await calls.start(container)
        yield calls, container
    finally:
        await calls.remove_container(container)
