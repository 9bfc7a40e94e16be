"""Real sandboxes for the tests, each test with a state directory of its own."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from control_tower.sandboxes.bwrap.config import BwrapConfig
from control_tower.sandboxes.bwrap.provider import BwrapSandbox

Open = Callable[..., AbstractAsyncContextManager[BwrapSandbox]]
Check = Callable[[BwrapSandbox], Awaitable[None]]
PATIENCE = 30.0


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state directory. Run by root, it lies where the sandbox's user cannot pass."""
    path = tmp_path / "state"
    monkeypatch.setenv("CT_STATE_DIR", str(path))
    return path


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A small code base."""
    path = tmp_path / "code"
    (path / "src").mkdir(parents=True)
    (path / "src" / "main.py").write_text("print('hello')\n")
    (path / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (path / "run.sh").chmod(0o755)
    return path


@pytest.fixture
def opened(code: Path) -> Open:
    """Opens sandboxes: `async with opened(processes=20) as box`."""

    @asynccontextmanager
    async def open_one(**options: Any) -> AsyncIterator[BwrapSandbox]:
        config = BwrapConfig(**{"source": str(code), **options})
        environments = await BwrapSandbox.sample_init("task", config, {})
        try:
            yield environments["default"].as_type(BwrapSandbox)
        finally:
            await BwrapSandbox.sample_cleanup("task", config, environments, False)

    return open_one


@pytest.fixture
def inside(opened: Open) -> Callable[..., None]:
    """Runs a check in one sandbox: `inside(check, processes=20)`."""

    def run(check: Check, **options: Any) -> None:
        async def body() -> None:
            async with opened(**options) as box:
                await check(box)

        anyio.run(body)

    return run


@pytest.fixture
def until() -> Callable[[Callable[[], Awaitable[bool]]], Awaitable[None]]:
    """Waits until a condition holds; fails when it never does."""

    async def wait(condition: Callable[[], Awaitable[bool]]) -> None:
        with anyio.fail_after(PATIENCE):
            while not await condition():
                await anyio.sleep(0.02)

    return wait


@pytest.fixture
def host_processes() -> Callable[[str], list[int]]:
    """The host's processes with a text in their command line."""

    def find(text: str) -> list[int]:
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if text.encode() in path.read_bytes():
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found

    return find


@pytest.fixture
def gone(host_processes: Callable[[str], list[int]]) -> Callable[[str], bool]:
    """Whether the processes with a text in their command line go away, given time."""

    def wait(text: str) -> bool:
        deadline = time.monotonic() + PATIENCE
        while host_processes(text):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    return wait
