"""Inspect's own conformance checks for sandbox providers, run on one sample of a provider."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from inspect_ai.util import SandboxEnvironment
from inspect_ai.util._sandbox import self_check

CHECKS: list[str] = list(self_check.__all__)
"""Their names."""


def run_self_checks(provider: type[SandboxEnvironment], config: Any) -> dict[str, Exception | None]:
    """What each check came to: its error, or None. The slow ones, which wait, run side by side.

    Args:
        provider: whose sample is checked.
        config: what the sample is made from.
    """
    found: dict[str, Exception | None] = {}

    async def body() -> None:
        boxes = await provider.sample_init("task", config, {})
        try:
            found.update(await _checked(boxes["default"]))
        finally:
            await provider.sample_cleanup("task", config, boxes, False)

    with pytest.MonkeyPatch.context() as patch:
        # The checks give a killed process five seconds to go; ours must be gone at once.
        patch.setattr(self_check, "anyio", SimpleNamespace(sleep=_no_sleep))
        anyio.run(body)
    return found


async def _checked(box: SandboxEnvironment) -> dict[str, Exception | None]:
    found: dict[str, Exception | None] = {}

    async def note(name: str) -> None:
        try:
            await getattr(self_check, name)(box)
        except Exception as error:
            found[name] = error
        else:
            found[name] = None

    async with anyio.create_task_group() as group:
        for name in CHECKS:
            if "timeout" in name:
                group.start_soon(note, name)
            else:
                await note(name)
    return found


async def _no_sleep(seconds: float) -> None:
    await anyio.sleep(0)
