"""From start to clean-up: what comes up, what fails, and that nothing stays."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path

import anyio
import pytest

from control_tower.sandboxes.bwrap import holder as holder_module
from control_tower.sandboxes.bwrap import provider
from control_tower.sandboxes.bwrap.config import BwrapConfig
from control_tower.sandboxes.bwrap.holder import Holder
from control_tower.sandboxes.bwrap.host import find_bwrap
from control_tower.sandboxes.bwrap.provider import BwrapSandbox
from control_tower.sandboxes.errors import SandboxRefused, SandboxStartError


def sandboxes(state: Path) -> list[Path]:
    return [path for path in state.glob("run-*/*") if path.is_dir() and path.name != "tools"]


def test_it_is_registered_with_inspect(code):
    from inspect_ai.util import SandboxEnvironmentSpec

    config = BwrapConfig(source=str(code), programs=("git",))
    spec = SandboxEnvironmentSpec(provider.NAME, config)
    assert hash(spec) == hash(SandboxEnvironmentSpec(provider.NAME, config))
    assert SandboxEnvironmentSpec.model_validate(spec.model_dump()).config == config
    assert BwrapSandbox.default_concurrency() is None


def test_cleanup_ends_every_process_and_removes_the_directory(opened, state, host_processes):
    marker = f"8{uuid.uuid4().int % 10**8}"

    async def body():
        async with opened() as box:
            script = f"setsid sleep {marker} >/dev/null 2>&1 & (trap '' TERM; sleep {marker}) &"
            await box.exec(["/bin/sh", "-c", script])
            assert len(host_processes(marker)) >= 2 and len(sandboxes(state)) == 1
        assert host_processes(marker) == [] and sandboxes(state) == []

    anyio.run(body)


def test_unreadable_and_very_deep_folders_are_removed(opened, state):
    deep = "import os\nfor i in range(300):\n os.mkdir('d' * 100)\n os.chdir('d' * 100)\n"

    async def body():
        async with opened() as box:
            assert (await box.exec(["python3", "-c", deep])).success
            await box.exec(["/bin/sh", "-c", "mkdir -p a/b/c && touch a/b/c/f; chmod 000 a/b a"])
            await box.exec(["chmod", "000", "/home/agent", "/app"])
        assert sandboxes(state) == []

    anyio.run(body)


def test_cleanup_is_not_stopped_by_cancellation(code, state):
    async def body():
        config = BwrapConfig(source=str(code))
        boxes = await BwrapSandbox.sample_init("task", config, {})
        with anyio.CancelScope() as scope:
            scope.cancel()
            await BwrapSandbox.sample_cleanup("task", config, boxes, True)
        assert sandboxes(state) == []

    anyio.run(body)


def test_a_cancelled_start_leaves_nothing(code, state):
    async def body():
        with anyio.CancelScope() as scope:
            scope.cancel()
            await BwrapSandbox.sample_init("task", BwrapConfig(source=str(code)), {})
        assert sandboxes(state) == []

    anyio.run(body)


def test_task_cleanup_is_a_last_net_for_its_own_task(code, state):
    async def body():
        config = BwrapConfig(source=str(code))
        mine = await BwrapSandbox.sample_init("mine", config, {})
        other = await BwrapSandbox.sample_init("other", config, {})
        await BwrapSandbox.task_cleanup("mine", config, True)
        with pytest.raises(Exception, match="ended"):
            await mine["default"].exec(["true"])
        assert (await other["default"].exec(["true"])).success
        await BwrapSandbox.task_cleanup("other", config, True)
        assert sandboxes(state) == []

    anyio.run(body)


def test_a_missing_source_is_said(tmp_path, state):
    config = BwrapConfig(source=str(tmp_path / "nowhere"))
    with pytest.raises(SandboxStartError, match="nowhere is not a directory"):
        anyio.run(BwrapSandbox.sample_init, "task", config, {})
    assert sandboxes(state) == []


def test_a_failed_start_tells_bwraps_words_and_leaves_nothing(code, state, monkeypatch):
    launch = Holder.launch

    def sabotaged(holder):
        (holder.path / "home").rmdir()
        launch(holder)

    monkeypatch.setattr(Holder, "launch", sabotaged)
    with pytest.raises(SandboxStartError, match=r"bwrap: Can't find source path .*home"):
        anyio.run(BwrapSandbox.sample_init, "task", BwrapConfig(source=str(code)), {})
    assert sandboxes(state) == []


def test_many_at_once(opened, host_processes):
    async def use(number):
        async with opened() as box:
            await box.write_file("n", str(number))
            await box.exec(["cp", "n", "m"])
            assert await box.read_file("m") == str(number)

    async def body():
        async with anyio.create_task_group() as group:
            for number in range(25):
                group.start_soon(use, number)

    anyio.run(body)


def test_file_descriptors_are_given_back(opened):
    async def body():
        async with opened() as box:
            await box.exec(["true"])
        before = set(os.listdir("/proc/self/fd"))
        for _ in range(3):
            async with opened() as box:
                await box.exec(["cat"], input="x")
                with anyio.move_on_after(0.01):
                    await box.exec(["sleep", "60"])
        assert len(os.listdir("/proc/self/fd")) == len(before)

    anyio.run(body)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to another user")
def test_a_state_directory_that_others_may_pass_needs_no_private_mount(opened, tmp_path, state):
    async def check_mounts():
        async with opened() as box:
            assert box.holder.owner.reach()[0] == ()
            assert (await box.exec(["./run.sh"])).stdout == "ran\n"

    folders = [state, *list(state.parents)[:-1]]
    state.mkdir()
    closed = [f for f in folders if not f.stat().st_mode & 0o001]
    modes = {folder: folder.stat().st_mode for folder in closed}
    try:
        for folder in closed:
            folder.chmod(0o711)
        anyio.run(check_mounts)
    finally:
        for folder, mode in modes.items():
            folder.chmod(mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="takes a directory of another user")
def test_a_state_directory_of_somebody_else_is_refused(code, state):
    state.mkdir()
    os.chown(state, 12345, 12345)
    with pytest.raises(SandboxRefused, match="belongs to user 12345; name another with CT_STATE"):
        anyio.run(BwrapSandbox.sample_init, "task", BwrapConfig(source=str(code)), {})


def test_the_event_loop_is_not_held_up_while_one_starts(code):
    """A start waits for bwrap; other tasks must run meanwhile."""

    async def body():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await anyio.sleep(0)

        async with anyio.create_task_group() as group:
            group.start_soon(tick)
            config = BwrapConfig(source=str(code))
            boxes = await BwrapSandbox.sample_init("task", config, {})
            started = ticks
            await BwrapSandbox.sample_cleanup("task", config, boxes, False)
            group.cancel_scope.cancel()
        assert started > 5

    anyio.run(body)


def test_a_holder_that_dies_is_noticed(inside, until):
    async def check(box):
        box.holder._monitor.kill()

        async def ended():
            return not box.holder.alive()

        await until(ended)
        with pytest.raises(Exception, match="ended"):
            await box.exec(["true"])

    inside(check)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to another user")
def test_a_bwrap_that_only_root_can_reach_is_copied(opened, tmp_path, monkeypatch):
    found = find_bwrap()
    if found is None or found.parent.name != "_bin":
        pytest.skip("there is no bundled bwrap here")
    site = tmp_path / "site"
    site.mkdir(mode=0o700)
    package = found.parents[1]
    for folder in (package, package.with_name(f"{package.name}.libs")):
        if folder.is_dir():
            shutil.copytree(folder, site / folder.name)
    hidden = site / package.name / "_bin" / "bwrap"
    monkeypatch.setattr(holder_module, "find_bwrap", lambda: hidden)

    async def body():
        async with opened() as box:
            assert (await box.exec(["./run.sh"])).stdout == "ran\n"
            assert (box.holder.owner.path / "tools" / package.name / "_bin" / "bwrap").exists()

    anyio.run(body)
