"""The command lines that enter a sandbox.

One command is a chain of programs, each replacing itself with the next, about 10 ms in all:
privileges go on the host (`setpriv`), `nsenter` joins the outer user namespace with all the others
and forks into the pid namespace, `prlimit` sets limits, a second `nsenter` joins the inner user
namespace, and inside a session of its own is opened (`setsid`) and the environment is built from
nothing (`env -i`). The limits come after the last fork, so that an agent which used all its
processes up cannot keep us, or its scorer, from entering; and before the inner user namespace,
where the agent can trace a process and make it its own.

A check is not the agent's: it stays in the outer user namespace, without capabilities. To the
kernel it is the same user, but in another namespace, so that the agent can neither trace it nor
open its memory or its streams. It can still signal it: a check can be killed and stopped, and not
made to lie. Code that the agent can alter must not run in that namespace, for it could do all this;
the variable `AS_AGENT` holds what to put in front of it.

The helpers are named by absolute paths in folders that the agent cannot write. The outermost dies
with the thread that started it, even when it is stopped.
"""

from __future__ import annotations

import os
import resource
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from control_tower.sandboxes.bwrap.config import BwrapConfig
from control_tower.sandboxes.bwrap.host import SANDBOX_PATH, HostUser, tool
from control_tower.sandboxes.bwrap.namespaces import AGENT, HOME
from control_tower.sandboxes.checking import AS_AGENT

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


_CHECKING = f'printf %s "$1" >&2; cd -- "$2" || exit {NO_FOLDER}; shift 2; exec '

_HUMANS = 9
"""File descriptor of the inner user namespace in a command line for humans."""

_NO_CAPABILITIES = ("--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all")


@dataclass(frozen=True)
class Entrance:
    """The way into one running sandbox."""

    first: int
    """Host pid of the sandbox's first process."""
    inner: int
    """Our file descriptor of the inner user namespace, which each command line must be given."""
    user: HostUser
    config: BwrapConfig
    flags: tuple[str, ...]
    """nsenter's options for the namespaces that are not the host's."""

    @classmethod
    def to(cls, first: int, inner: int, user: HostUser, config: BwrapConfig) -> Entrance:
        """The entrance to the sandbox whose first process has host pid `first`."""
        flags = tuple(flag for name, flag in _NAMESPACES.items() if _differs(first, name))
        return cls(first, inner, user, config, ("--mount", "--pid", *flags))

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
        return [
            *self._agent(),
            *("/bin/sh", "-c", _INSIDE, tool("setsid"), marker, cwd),
            *_assigned({**ENVIRONMENT, **env}),
            *_program(cmd),
        ]

    def check(self, cmd: Sequence[str], *, marker: str) -> list[str]:
        """Arguments that run `cmd` as a check: in the workspace, out of the agent's reach."""
        agents = self._limits(self.config.processes)
        # Whatever runs in the inner namespace counts in the outer one too.
        own = self._limits(2 * self.config.processes)
        drop = [tool("setpriv"), *_NO_CAPABILITIES, "--", *own]
        whole = [tool("setsid"), "--", *drop, "/usr/bin/env", "-i", "--", *_assigned(ENVIRONMENT)]
        limited = shlex.join(["/usr/bin/env", "-u", AS_AGENT, "--", *agents])
        enter = f"{limited} {shlex.join(self._join_inner('CHECK'))}".replace("CHECK", "$$")
        script = f'{_CHECKING} {shlex.join(whole)} {AS_AGENT}="{enter}" "$@"'
        return [
            *self._outer(),
            *("/bin/sh", "-c", script, "sh", marker, self.config.workspace),
            *_program(cmd),
        ]

    def for_human(self, cmd: Sequence[str]) -> list[str]:
        """Arguments with which a human on the host runs `cmd` in the workspace, as the agent."""
        variables = _assigned({**ENVIRONMENT, "TERM": "xterm"})
        script = 'cd -- "$1" && shift && exec /usr/bin/env -i -- "$@"'
        inside = ["/bin/sh", "-c", script, "sh", self.config.workspace, *variables, *_program(cmd)]
        # It is not we who run it: whoever does opens the inner user namespace by way of us.
        ours = f"/proc/{os.getpid()}/fd/{self.inner}"
        opened = replace(self, inner=_HUMANS)
        script = f'exec {_HUMANS}<"$0" && exec "$@"'
        return ["/bin/sh", "-c", script, ours, *opened._agent(), *inside]

    def _agent(self) -> list[str]:
        return [
            *self._outer(),
            *self._limits(self.config.processes),
            *self._join_inner("self"),
        ]

    def _join_inner(self, process: str) -> list[str]:
        """Into the inner user namespace, which `process` has open."""
        path = f"/proc/{process}/fd/{self.inner}"
        return [tool("nsenter"), f"--user={path}", "--preserve-credentials", "--"]

    def _outer(self) -> list[str]:
        """Into all namespaces but the inner user namespace, with all capabilities over them."""
        return [
            # After the change of user, which would clear the signal.
            *(*self.user.drop(), "--pdeathsig=KILL", "--"),
            *(tool("nsenter"), "--target", str(self.first)),
            *("--user", "--preserve-credentials", *self.flags, "--"),
        ]

    def _limits(self, processes: int) -> list[str]:
        memory = _at_most(resource.RLIMIT_AS, self.config.memory_mb * _MIB)
        file_size = _at_most(resource.RLIMIT_FSIZE, self.config.file_size_mb * _MIB)
        return [
            *(tool("prlimit"), f"--as={memory}", f"--fsize={file_size}", "--core=0"),
            *("--nice=0", "--rtprio=0"),
            *(f"--nproc={_at_most(resource.RLIMIT_NPROC, processes)}", "--"),
        ]


def _assigned(variables: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in variables.items()]


def _program(cmd: Sequence[str]) -> list[str]:
    """The command for `env`, which takes a word with an equals sign for a variable."""
    return ["/bin/sh", "-c", 'exec "$0" "$@"', *cmd] if "=" in cmd[0] else list(cmd)


def _differs(pid: int, namespace: str) -> bool:
    """Whether the process's namespace of this kind is another than ours."""
    return os.readlink(f"/proc/{pid}/ns/{namespace}") != os.readlink(f"/proc/self/ns/{namespace}")


def _at_most(limit: int, value: int) -> int:
    """`value`, or the hard limit we are under ourselves if that is lower."""
    _, hard = resource.getrlimit(limit)
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
