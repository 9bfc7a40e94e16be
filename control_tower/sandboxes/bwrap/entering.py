"""The command lines that enter a sandbox.

One command is a chain of programs, each replacing itself with the next, about 10 ms in all:
limits and privileges go on the host (`prlimit`, `setpriv`), `nsenter` joins the outer user
namespace with all the others and forks into the pid namespace, a second `nsenter` joins the inner
user namespace, and inside a session of its own is opened (`setsid`) and the environment is built
from nothing (`env -i`). The process limit comes last, so that an agent which used all its
processes up cannot keep us, or its scorer, from entering.

The helpers are named by absolute paths in folders that the agent cannot write.
"""

from __future__ import annotations

import os
import resource
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from control_tower.sandboxes.bwrap.config import BwrapConfig
from control_tower.sandboxes.bwrap.host import SANDBOX_PATH, HostUser, tool
from control_tower.sandboxes.bwrap.namespaces import AGENT, HOME, INNER_USER_NAMESPACE

_MIB = 1024 * 1024
_NAMESPACES = {"net": "--net", "ipc": "--ipc", "uts": "--uts", "cgroup": "--cgroup"}

ENVIRONMENT = {
    "PATH": SANDBOX_PATH,
    "HOME": HOME,
    "USER": AGENT,
    "LOGNAME": AGENT,
    "SHELL": "/bin/sh",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
}
"""The environment of every command; nothing is taken from the host's."""

HELPER_ENVIRONMENT = {"PATH": SANDBOX_PATH, "LC_ALL": "C"}
"""The environment of the chain itself; the C locale fixes the wording of its messages."""

NO_FOLDER = 125
"""Exit code when the working folder cannot be entered."""

_INSIDE = (
    f'printf %s "$1" >&2; cd -- "$2" || exit {NO_FOLDER}; shift 2; '
    'exec "$0" -- /usr/bin/env -i -- "$@"'
)


@dataclass(frozen=True)
class Entrance:
    """The way into one running sandbox."""

    first: int
    """Host pid of the sandbox's first process."""
    user: HostUser
    config: BwrapConfig
    flags: tuple[str, ...]
    """nsenter's options for the namespaces that are not the host's."""

    @classmethod
    def to(cls, first: int, user: HostUser, config: BwrapConfig) -> Entrance:
        """The entrance to the sandbox whose first process has host pid `first`."""
        flags = tuple(flag for name, flag in _NAMESPACES.items() if _differs(first, name))
        return cls(first, user, config, ("--mount", "--pid", *flags))

    def outer_user(self) -> list[str]:
        """Arguments that run what follows in the outer user namespace, on the host's files."""
        return [*self.user.drop(), "--", *self._nsenter(), "--"]

    def command(
        self, cmd: Sequence[str], *, marker: str, cwd: str, env: Mapping[str, str]
    ) -> list[str]:
        """Arguments that run `cmd` as the agent.

        Args:
            cmd: the program and its arguments; the program is looked up in the sandbox's PATH.
            marker: written to stderr from inside, right before anything of the agent's runs.
            cwd: absolute path of the working folder.
            env: variables on top of, or instead of, `ENVIRONMENT`.
        """
        program = ["/bin/sh", "-c", 'exec "$0" "$@"'] if "=" in cmd[0] else []
        return [
            *self._agent(),
            *("/bin/sh", "-c", _INSIDE, tool("setsid"), marker, cwd),
            *(f"{name}={value}" for name, value in {**ENVIRONMENT, **env}.items()),
            *program,
            *cmd,
        ]

    def shell(self) -> str:
        """A command line with which a human on the host gets a shell in the workspace."""
        variables = [f"{k}={v}" for k, v in {**ENVIRONMENT, "TERM": "xterm"}.items()]
        script = 'cd -- "$1" && shift && exec /usr/bin/env -i -- "$@"'
        inside = ["/bin/sh", "-c", script, "sh", self.config.workspace, *variables, "/bin/sh", "-i"]
        return shlex.join([*self._agent(), *inside])

    def _agent(self) -> list[str]:
        processes = f"--nproc={_at_most(resource.RLIMIT_NPROC, self.config.processes)}"
        return [
            *(tool("prlimit"), *self._limits(), "--"),
            *(*self.user.drop(), "--"),
            *(*self._nsenter(), *self.flags, "--"),
            *(tool("nsenter"), f"--user={INNER_USER_NAMESPACE}", "--preserve-credentials", "--"),
            *(tool("prlimit"), processes, "--"),
        ]

    def _nsenter(self) -> list[str]:
        return [
            *(tool("nsenter"), "--target", str(self.first)),
            *("--user", "--preserve-credentials"),
        ]

    def _limits(self) -> list[str]:
        memory = _at_most(resource.RLIMIT_AS, self.config.memory_mb * _MIB)
        file_size = _at_most(resource.RLIMIT_FSIZE, self.config.file_size_mb * _MIB)
        return [f"--as={memory}", f"--fsize={file_size}", "--core=0", "--nice=0", "--rtprio=0"]


def _differs(pid: int, namespace: str) -> bool:
    """Whether the process's namespace of this kind is another than ours."""
    return os.readlink(f"/proc/{pid}/ns/{namespace}") != os.readlink(f"/proc/self/ns/{namespace}")


def _at_most(limit: int, value: int) -> int:
    """`value`, or the hard limit we are under ourselves if that is lower."""
    _, hard = resource.getrlimit(limit)
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
