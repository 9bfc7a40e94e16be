"""Sandboxes of one's own, as somebody outside of this repository would register them."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from inspect_ai.util import (
    ExecResult,
    SandboxEnvironment,
    SandboxUserUnsupportedError,
    sandboxenv,
    subprocess,
)
from pydantic import BaseModel

NOTES = "BOXES_NOTES"
"""The variable with the file in which they note what happens to them."""


class BoxConfig(BaseModel, frozen=True, extra="forbid"):
    """Arguments of `noted`."""

    size: int = 1
    label: str = "plain"
    fails: str = ""
    """Where it fails: in `task` or in `sample`."""


class ListConfig(BaseModel, frozen=True):
    """A configuration that cannot be hashed."""

    parts: list[int]


@sandboxenv(name="noted")
class NotedBox(SandboxEnvironment):
    """A folder of the host, with `/app` in it in place of the host's."""

    def __init__(self, config: BoxConfig | None) -> None:
        super().__init__()
        self.config = config
        self.root = Path(tempfile.mkdtemp(prefix="box-"))

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BoxConfig:
        return BoxConfig.model_validate(config)

    @classmethod
    async def task_init(cls, task_name: str, config: Any) -> None:
        note(f"task {config!r}")
        if config is not None and config.fails == "task":
            raise RuntimeError("no licence")

    @classmethod
    async def task_cleanup(cls, task_name: str, config: Any, cleanup: bool) -> None:
        note("task over")

    @classmethod
    async def sample_init(cls, task_name: str, config: Any, metadata: dict[str, str]) -> Any:
        note("sample")
        if config is not None and config.fails == "sample":
            raise RuntimeError("no room\nat all")
        if config is not None and config.label == "slow":
            logging.getLogger("control_tower.sandboxes.boxes").warning("try 1\nof %d", config.size)
        return {"default": cls(config), "db": cls(config)}

    @classmethod
    async def sample_cleanup(
        cls, task_name: str, config: Any, environments: dict[str, Any], interrupted: bool
    ) -> None:
        kinds = sorted(type(each).__name__ for each in environments.values())
        note(f"clean {' '.join(kinds)}")
        for each in environments.values():
            shutil.rmtree(each.root)

    async def exec(  # as providers were written before Inspect had `concurrency`
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
    ) -> ExecResult[str]:
        if user is not None:
            raise SandboxUserUnsupportedError(f"no user {user}")
        inside = [each.replace("/app", f"{self.root}/app") for each in cmd]
        return await subprocess(
            inside, input=input, cwd=self.place(cwd or "/"), env=env or {}, timeout=timeout
        )

    async def read_file(self, file: str, text: bool = True) -> Any:
        path = self.place(file)
        return path.read_text() if text else path.read_bytes()

    async def write_file(self, file: str, contents: str | bytes) -> None:
        path = self.place(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents.encode() if isinstance(contents, str) else contents)

    def place(self, path: str) -> Path:
        return self.root / path.lstrip("/")


@sandboxenv(name="listed")
class ListedBox(NotedBox):
    """Its configuration cannot be hashed."""

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> Any:
        return ListConfig.model_validate(config)


def note(line: str) -> None:
    """Note what happens, if somebody wants to know."""
    if NOTES in os.environ:
        with open(os.environ[NOTES], "a") as file:
            file.write(line + "\n")
