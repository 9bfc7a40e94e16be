"""Another provider's sandbox, as the rest of the house sees it."""

from __future__ import annotations

import os
import pwd
import shutil
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.util import ExecResult, SandboxEnvironment
from support import boxes
from support.boxes import BoxConfig, NotedBox

from control_tower.sandboxes.checking import ChecksApart, exec_check
from control_tower.sandboxes.errors import KnownStartFailure, SandboxStartError
from control_tower.sandboxes.external.config import ExternalConfig
from control_tower.sandboxes.external.placing import placed
from control_tower.sandboxes.external.provider import ExternalSandbox

pytestmark = pytest.mark.anyio

PROVIDER = "control_tower.sandboxes.external.provider"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the provider notes."""
    file = tmp_path / "notes"
    file.touch()
    monkeypatch.setenv(boxes.NOTES, str(file))
    return file


def config(type: str = "support.boxes:noted", args: str = "", **more: Any) -> ExternalConfig:
    values = {"workspace": "/app", "agent_user": "agent", **more}
    return ExternalConfig(type=type, args=args, **values)


async def start(asked: ExternalConfig) -> dict[str, SandboxEnvironment]:
    return await ExternalSandbox.sample_init("task", asked, {})


async def end(asked: ExternalConfig, found: dict[str, SandboxEnvironment]) -> None:
    await ExternalSandbox.sample_cleanup("task", asked, found, False)


@pytest.mark.parametrize(
    ("path", "there", "stood_in"),
    [
        (None, "/app", "."),
        ("main.py", "/app/main.py", "main.py"),
        ("a/../b", "/app/b", "b"),
        ("/app", "/app", "."),
        ("/app/a/b", "/app/a/b", "a/b"),
        ("/application", "/application", "/application"),
        ("/tmp/x", "/tmp/x", "/tmp/x"),
        ("../etc", "/etc", "/etc"),
    ],
)
def test_paths_begin_at_the_workspace(path: str | None, there: str, stood_in: str) -> None:
    assert placed(path, workspace="/app", stands_in=False) == there
    assert placed(path, workspace="/app", stands_in=True) == stood_in


async def test_commands_start_in_the_workspace_and_files_are_found_there() -> None:
    asked = config()
    found = await start(asked)
    box = found["default"]
    assert list(found) == ["default", "db"]
    await box.write_file("a.txt", "one")
    done = await box.exec(["sh", "-c", "cat a.txt /app/a.txt; echo two > b.txt"])
    assert done.stdout == "oneone"
    assert await box.read_file("/app/b.txt") == "two\n"
    assert await box.read_file("b.txt", text=False) == b"two\n"
    await end(asked, found)


async def test_the_provider_gets_its_own_sandboxes_and_configuration_back(notes: Path) -> None:
    asked = config(args='{"size": 3}')
    await ExternalSandbox.task_init("task", asked)
    found = await start(asked)
    inner = found["default"].as_type(NotedBox)
    assert inner.config == BoxConfig(size=3)
    assert type(found["db"]) is NotedBox
    await end(asked, found)
    await ExternalSandbox.task_cleanup("task", asked, True)
    assert notes.read_text().splitlines() == [
        f"task {BoxConfig(size=3)!r}",
        "sample",
        "clean NotedBox NotedBox",
        "task over",
    ]
    assert not inner.root.exists()


async def test_a_provider_that_cannot_prepare_fails_its_samples_and_not_the_eval() -> None:
    asked = config(args='{"fails": "task"}')
    await ExternalSandbox.task_init("task", asked)
    with pytest.raises(KnownStartFailure) as caught:
        await start(asked)
    assert str(caught.value) == (
        "sandbox 'support.boxes:noted' cannot prepare: RuntimeError: no licence"
    )
    await ExternalSandbox.task_cleanup("task", asked, True)
    await end(asked, await start(asked))  # forgotten with the task


async def test_a_provider_that_does_not_start_is_one_line() -> None:
    with pytest.raises(SandboxStartError) as caught:
        await start(config(args='{"fails": "sample"}'))
    assert str(caught.value) == (
        "sandbox 'support.boxes:noted' does not start: RuntimeError: no room at all"
    )


async def test_a_workspace_that_cannot_be_made_leaves_nothing(notes: Path) -> None:
    with pytest.raises(SandboxStartError, match="cannot make the workspace /dev/null/x: "):
        await start(config(workspace="/dev/null/x"))
    assert notes.read_text().splitlines() == ["sample", "clean NotedBox NotedBox"]


class Users(NotedBox):
    """Knows some users, and notes who runs what."""

    known: tuple[str, ...] = ()
    ran: list[tuple[str, str | None]]

    async def exec(self, cmd: list[str], user: str | None = None, **more: Any) -> ExecResult[str]:
        self.__dict__.setdefault("ran", []).append((cmd[0], user))
        if user is not None and user not in self.known:
            return ExecResult(False, 126, "", f"unable to find user {user}")
        return await super().exec(cmd, **more)


@pytest.mark.parametrize(("known", "agent"), [(("agent", "root"), "agent"), ((), None)])
async def test_the_agent_s_user_runs_commands_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, known: tuple[str, ...], agent: str | None
) -> None:
    async def sample_init(task_name: str, config: Any, metadata: Any) -> dict[str, Any]:
        return {"default": Users(config)}

    monkeypatch.setattr(NotedBox, "sample_init", sample_init)
    # Nobody here is `agent`, so that giving the workspace to it would fail.
    monkeypatch.setattr(f"{PROVIDER}._MAKE_WORKSPACE", 'mkdir "$0"')
    monkeypatch.setattr(f"{PROVIDER}._IS_USER", "true")
    monkeypatch.setattr(Users, "known", known)
    asked = config()
    found = await start(asked)
    box, inner = found["default"], found["default"].as_type(Users)
    inner.ran.clear()
    await box.exec(["true"])
    await box.exec(["false"], user="root")
    assert inner.ran == [("true", agent), ("false", "root")]
    await end(asked, found)


class Ignores(NotedBox):
    """Runs every command as this process's user, whoever is named; its folder is always the same."""

    place_of_all: Path

    def __init__(self, config: BoxConfig | None) -> None:
        super().__init__(config)
        shutil.rmtree(self.root)
        self.root = self.place_of_all

    async def exec(self, cmd: list[str], user: str | None = None, **more: Any) -> ExecResult[str]:
        return await super().exec(cmd, **more)


@pytest.fixture
def ignores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The place of the one sandbox, in whose samples users are ignored."""

    async def sample_init(task_name: str, config: Any, metadata: Any) -> dict[str, Any]:
        return {"default": Ignores(config)}

    async def sample_cleanup(*args: Any) -> None:
        pass

    monkeypatch.setattr(NotedBox, "sample_init", sample_init)
    monkeypatch.setattr(NotedBox, "sample_cleanup", sample_cleanup)
    monkeypatch.setattr(Ignores, "place_of_all", tmp_path, raising=False)
    return tmp_path


OTHER = "bin" if os.getuid() else "nobody"
ME = pwd.getpwuid(os.getuid()).pw_name


@pytest.mark.parametrize(
    ("wanted", "agent"),
    [("no-such-user", None), (OTHER, None), ("64000", None), (ME, ME), (f"{os.getuid()}", "")],
)
async def test_a_provider_that_ignores_users_has_its_own_alone(
    ignores: Path, wanted: str, agent: str | None
) -> None:
    asked = config(agent_user=wanted)
    box = (await start(asked))["default"]
    assert isinstance(box, ExternalSandbox)
    assert box._agent == (agent if agent is None else wanted)
    assert (ignores / "app").stat().st_uid == os.getuid()


async def test_a_workspace_that_is_half_made_is_not_taken_for_a_whole_one(
    ignores: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where another process is killed, or a user is missing, in a place that outlives samples."""
    monkeypatch.setattr(f"{PROVIDER}._IS_USER", "true")
    asked = config(workspace="/app/deep/er", agent_user="no-such-user")
    for _ in range(2):
        with pytest.raises(SandboxStartError, match="cannot make the workspace /app/deep/er: ch"):
            await start(asked)
    assert list((ignores / "app" / "deep").iterdir()) == []


async def test_a_check_runs_in_the_workspace() -> None:
    asked = config()
    found = await start(asked)
    box = found["default"]
    with pytest.raises(TypeError):
        box.as_type(ChecksApart)
    done = await exec_check(box, ["sh", "-s"], input="pwd; echo $CT_AS_AGENT.", timeout=10)
    folder, prefix = done.stdout.split()
    assert folder == f"{box.as_type(NotedBox).root}/app"
    assert prefix == "."
    await end(asked, found)


async def test_in_inspect_s_local_its_own_folder_stands_in_for_the_workspace(
    tmp_path: Path,
) -> None:
    asked = config("local", workspace=f"{tmp_path}/app")
    found = await start(asked)
    box = found["default"]
    await box.write_file(f"{tmp_path}/app/a/b.txt", "one")
    done = await box.exec(["cat", "a/b.txt"], cwd=f"{tmp_path}/app")
    assert done.stdout == "one"
    assert await box.read_file("a/b.txt") == "one"
    folder = (await box.exec(["pwd"])).stdout.strip()
    assert (Path(folder) / "a/b.txt").is_file()
    assert not (tmp_path / "app").exists()
    await end(asked, found)
    assert not Path(folder).exists()


def test_its_configuration_comes_back_from_a_log() -> None:
    asked = config(args='{"size": 3}')
    assert ExternalSandbox.config_deserialize(asked.model_dump()) == asked
    assert hash(asked) == hash(config(args='{"size": 3}'))
