"""What a `bwrap` sandbox is asked to be."""

from __future__ import annotations

import posixpath

from pydantic import BaseModel, Field, field_validator

_TAKEN = ("bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys")
_TAKEN_WHOLE = ("", "home", "home/agent", "tmp", "var", "var/tmp", "var/run", *_TAKEN, "usr")


class BwrapConfig(BaseModel, frozen=True):
    """One sandbox of the `bwrap` provider; frozen, so that Inspect can hash it."""

    source: str
    """Host directory copied into the workspace at sample start: a private, writable copy."""

    workspace: str = "/app"
    """Absolute path inside the sandbox: the default folder of commands, the base of relative
    paths."""

    network: bool = False
    """False: a network of its own with only the loopback, up. True: the host's network, its
    loopback services and abstract sockets included."""

    programs: tuple[str, ...] = ()
    """Host programs the environment needs; checked before a run."""

    hidden: tuple[str, ...] = ()
    """Host directories that are empty in the sandbox, should they be in what it sees of the host:
    the environment's own, with its scorers and references."""

    memory_mb: int = Field(default=2048, gt=0)
    """Address space of each process, in MiB. It bounds a process, not the sum of them."""

    processes: int = Field(default=256, gt=0)
    """Processes and threads of the whole sandbox at one time."""

    file_size_mb: int = Field(default=512, gt=0)
    """The biggest file a process may write, in MiB. It bounds a file, not the workspace."""

    tmp_size_mb: int = Field(default=512, gt=0)
    """Size of the private `/tmp`, which lives in memory, in MiB."""

    @field_validator("workspace")
    @classmethod
    def _mountable(cls, value: str) -> str:
        path = posixpath.normpath(value)
        relative = path.lstrip("/")
        if not value.startswith("/"):
            raise ValueError(f"workspace {value!r} is not an absolute path")
        system = relative.split("/")[0] in _TAKEN or relative.startswith("usr/")
        if system or relative in _TAKEN_WHOLE:
            raise ValueError(f"workspace {value!r} is a system folder of the sandbox; use '/app'")
        return "/" + relative
