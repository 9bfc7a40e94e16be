"""Inspect's own conformance checks for sandbox providers, as a table."""

from __future__ import annotations

from types import SimpleNamespace

import anyio
import pytest
from inspect_ai.util import SandboxUserUnsupportedError
from inspect_ai.util._sandbox import self_check

from control_tower.sandboxes.bwrap.config import BwrapConfig
from control_tower.sandboxes.bwrap.provider import BwrapSandbox

EXCEPTIONS = {
    "test_exec_as_user": "makes a second user as root; a bwrap sandbox has one user, not root",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What each check came to: its error, or None. The slow ones, which wait, run side by side."""
    found = {}

    async def note(name, box):
        try:
            await getattr(self_check, name)(box)
        except Exception as error:
            found[name] = error
        else:
            found[name] = None

    async def body():
        config = BwrapConfig(source=str(tmp_path_factory.mktemp("code")))
        boxes = await BwrapSandbox.sample_init("task", config, {})
        box = boxes["default"]
        try:
            async with anyio.create_task_group() as group:
                for name in self_check.__all__:
                    if "timeout" in name:
                        group.start_soon(note, name, box)
                    else:
                        await note(name, box)
        finally:
            await BwrapSandbox.sample_cleanup("task", config, boxes, False)

    async def no_sleep(seconds):
        await anyio.sleep(0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CT_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        # The checks give a killed process five seconds to go; ours must be gone at once.
        patch.setattr(self_check, "anyio", SimpleNamespace(sleep=no_sleep))
        anyio.run(body)
    return found


@pytest.mark.parametrize("name", [n for n in self_check.__all__ if n not in EXCEPTIONS])
def test_passes(name, results):
    if results[name] is not None:
        raise results[name]


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_justified_exceptions(name, results):
    assert isinstance(results[name], SandboxUserUnsupportedError)
