"""Bubblewrap in the agent's container: what `--sandbox-isolation` runs the agent's commands in.

Each command has a view of the container's files in which they are read-only, but for the workspace
and a private `/tmp`. All commands of a sample share one pid namespace, which a holder keeps: so a
daemon that one of them leaves can be seen and ended by the next, and no other process can.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from inspect_ai.util import ExecResult

from control_tower.sandboxes.docker.bubblewrap_files import (
    BINARY,
    FILTER,
    PROC,
    TMP,
    archive,
    chosen_words,
    way,
)
from control_tower.sandboxes.docker.entering import NAME, OUT_OF_REACH, becoming, entering
from control_tower.sandboxes.errors import SandboxRefused, SandboxStartError

ENGINE_SOCKETS = (
    "docker.sock",
    "containerd/containerd.sock",
    "podman/podman.sock",
    "crio/crio.sock",
)
"""Below `/run`: the sockets of engines, by which one could do anything on their host."""

_READY = "ready"
_HOLD = f"""
command -v sleep >/dev/null || exit 1
echo {_READY}
exec >/dev/null 2>&1
while :; do sleep 1000000 & wait; done
"""
"""The first process of the agent's pid namespace: waits, and collects orphans meanwhile. The agent
can end the sleep, but not the shell."""
_START_HOLDER = f"""
( ( "$0" "$@" 3>&1 9<{FILTER}; exit $? ) </dev/null 2>&1 & ) | {{
    while read -r key value; do
        case "$key" in
        '"child-pid":') pid=${{value%,}} ;;
        {_READY}) echo "$pid"; exit ;;
        [{{}}] | '"'*) ;;
        *) said="$said $key $value" ;;
        esac
    done
    echo "${{said:-bwrap said nothing}}"
}}
"""
"""Leaves the holder running, and prints its number in the container, or what went wrong."""

_CANNOT_RUN = 71
_PREPARE = f"""
bwrap=$0 workspace=$1 user=$2
shift 2
for name in nsenter setpriv; do
    command -v "$name" >/dev/null || {{
        echo "the image has no $name; install the package util-linux in it" >&2; exit 1
    }}
done
"$bwrap" --version >/dev/null || exit {_CANNOT_RUN}
mkdir -p -m 700 {TMP} && chown "$(id -u "$user"):$(id -g "$user")" {TMP} || exit 1
mkdir -p {PROC} || exit 1
cd "$workspace" && pwd -P || exit 1
for kind in mnt pid user ipc; do readlink /proc/self/ns/$kind || exit 1; done
filters=0
while read -r key value; do
    [ "$key" != Seccomp_filters: ] || filters=$value
done </proc/self/status
echo "$filters"
for name; do [ ! -S "/run/$name" ] || readlink -f "/run/$name"; done
while read -r _ _ _ _ point _; do
    point=$(printf '%b' "$point")
    [ ! -S "$point" ] || printf '%s\\n' "$point"
done </proc/self/mountinfo
"""
"""Run as root. Prints the workspace's real path, the container's namespaces, the number of its
filters, and the sockets that are the engine's or come from the host, a line each."""

_MOUNT_PROC = f"""
nsenter --pid="/proc/$0/ns/pid" mount -t proc -o ro,nosuid,nodev,noexec proc {PROC} || exit 1
while read -r _ _ _ _ point _ line; do
    case "$line" in *" - tmpfs "*) ;; *) continue ;; esac
    mine={PROC}${{point#/proc}}
    case "$point" in /proc/*) [ -e "$mine" ] || continue ;; *) continue ;; esac
    if [ -d "$mine" ]; then mount -t tmpfs -o ro,size=4k tmpfs "$mine"
    else mount --bind /dev/null "$mine"
    fi || exit 1
done </proc/self/mountinfo
"""
"""Run as root with all powers. Only from outside can the agent's pid namespace get a `/proc` of its
own: the kernel refuses it within, since the engine hides a part of the container's. The same part
is hidden here."""

_HOLDS = "isolation holds"
_PROBE = f"""
wrong() {{ echo "$1" >&2; exit 1; }}
workspace=$1 filters=$2
shift 2
for theirs; do
    kind=${{theirs%%:*}}
    mine=$(readlink "/proc/self/ns/$kind") && [ "$mine" != "$theirs" ] ||
        wrong "the agent is in the container's own $kind namespace"
done
while read -r key value; do
    case "$key $value" in
    "NoNewPrivs: 0") wrong "the agent can gain privileges" ;;
    CapEff:*[1-9a-f]* | CapBnd:*[1-9a-f]*) wrong "the agent has capabilities" ;;
    Seccomp:*) [ "$value" = 2 ] || wrong "the agent has no seccomp filter" ;;
    Seccomp_filters:*) [ "$value" -gt "$filters" ] || wrong "the agent has no filter of its own" ;;
    esac
done </proc/self/status
(cd /proc/1/root) 2>/dev/null && wrong "the agent can reach what holds its sandbox"
(: >{TMP}/probe) 2>/dev/null && wrong "the agent can write outside of its workspace"
(: >/tmp/.ct-probe) && [ -e {TMP}/.ct-probe ] && rm /tmp/.ct-probe || wrong "/tmp is not private"
mine=$workspace/.ct-probe-$$
if said=$( (: >"$mine") 2>&1); then
    rm "$mine" || wrong "the agent cannot remove its files"
else
    case "$(id -u) $said" in
    [1-9]*"Permission denied") ;;
    *) wrong "the agent cannot write its workspace $workspace: $said" ;;
    esac
fi
echo {_HOLDS}
"""
"""Run as the agent, inside. That an ordinary user cannot write in `/` proves nothing; so it tries a
folder that is its own."""


class Inside(Protocol):
    """The agent's container, once it runs."""

    async def put(self, archive: bytes) -> None:
        """Unpack a tar archive in its root folder."""

    async def run(self, cmd: list[str], user: str, *, privileged: bool = False) -> ExecResult[str]:
        """Run a command as a user, in the root folder, with a path that only root can write.

        Args:
            cmd: program and arguments.
            user: name or number.
            privileged: whether it has all powers over the container.
        """


@dataclass(frozen=True)
class Bubblewrap:
    """How commands are wrapped in one sample's container."""

    workspace: str
    """Absolute path without links."""

    holder: int
    """Number of the holder's process in the container."""

    hidden: tuple[str, ...] = ()
    """Absolute paths of sockets that the agent does not get."""

    def command(self, cmd: Sequence[str]) -> list[str]:
        """The command that runs `cmd` isolated; to be run as the agent, anywhere."""
        return [*self.prefix(), *cmd]

    def prefix(self) -> list[str]:
        """What goes in front of a command."""
        return [
            *entering(self.holder),
            *("--userns", "7", "--pidns", "8", "--seccomp", "9"),
            *("--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
            *OUT_OF_REACH,
            *("--ro-bind", "/", "/"),
            *("--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
            *("--ro-bind", PROC, "/proc"),
            *("--bind", TMP, "/tmp", "--bind", self.workspace, self.workspace),
            *_hiding(self.hidden),
            *("--", *becoming()),
        ]


async def set_up(inside: Inside, *, workspace: str, agent_user: str) -> Bubblewrap:
    """Put bubblewrap into the agent's container, out of the agent's reach, and prove that it holds.

    Before the agent can have done anything there.

    Args:
        inside: the container.
        workspace: absolute path there.
        agent_user: name or number of the user there.

    Raises:
        SandboxStartError: it does not run there, or does not isolate.
    """
    try:
        files = archive()
    except SandboxRefused as refusal:
        raise SandboxStartError(f"isolation cannot be set up: {refusal}") from None
    await inside.put(files)
    real, namespaces, filters, sockets = await _prepared(inside, workspace, agent_user)
    holder = await _held(inside, agent_user, sockets)
    await _mount_proc(inside, holder)
    wrapped = Bubblewrap(real, holder, sockets)
    probe = ["/bin/sh", "-c", _PROBE, NAME, real, filters, *namespaces]
    proof = await inside.run(wrapped.command(probe), agent_user)
    if not proof.success or proof.stdout.strip() != _HOLDS:
        raise SandboxStartError(
            f"isolation does not hold in the agent's container: {_said(proof)}{chosen_words()}"
        )
    return wrapped


async def _prepared(
    inside: Inside, workspace: str, agent_user: str
) -> tuple[str, list[str], str, tuple[str, ...]]:
    """The workspace's real path, and the container's namespaces, filters and sockets to hide."""
    prepare = ["/bin/sh", "-c", _PREPARE, BINARY, workspace, agent_user, *ENGINE_SOCKETS]
    done = await inside.run(prepare, "root")
    if done.returncode == _CANNOT_RUN:
        raise SandboxStartError(f"the image of the agent's service cannot run bwrap: {way(done)}")
    if not done.success:
        raise SandboxStartError(f"isolation cannot be set up: {_said(done)}")
    real, *rest = done.stdout.splitlines()
    return real, rest[:4], rest[4], tuple(dict.fromkeys(rest[5:]))


async def _held(inside: Inside, agent_user: str, hidden: tuple[str, ...]) -> int:
    """Start the holder; its number in the container."""
    started = await inside.run(_holder(hidden), agent_user)
    said = started.stdout.strip()
    if not said.isdecimal():
        shown = ExecResult(False, started.returncode, "", said or started.stderr)
        raise SandboxStartError(f"isolation cannot be set up: {_said(shown)}{chosen_words()}")
    return int(said)


def _holder(hidden: tuple[str, ...]) -> list[str]:
    """The command that starts the holder."""
    return [
        *("/bin/sh", "-c", _START_HOLDER, BINARY),
        *("--unshare-user", "--unshare-pid", "--as-pid-1", "--die-with-parent", "--info-fd", "3"),
        *OUT_OF_REACH,
        *("--seccomp", "9", "--ro-bind", "/", "/"),
        *("--tmpfs", "/proc", "--remount-ro", "/proc", "--dev-bind", "/dev/null", "/dev/null"),
        *_hiding(hidden),
        *("--", "/bin/sh", "-c", _HOLD),
    ]


def _hiding(hidden: tuple[str, ...]) -> list[str]:
    return [word for path in hidden for word in ("--ro-bind", "/dev/null", path)]


async def _mount_proc(inside: Inside, holder: int) -> None:
    """Mount a `/proc` of the agent's pid namespace; the container's own is a way to its files."""
    done = await inside.run(["/bin/sh", "-c", _MOUNT_PROC, str(holder)], "root", privileged=True)
    if not done.success:
        raise SandboxStartError(
            "isolation cannot be set up: no /proc of the agent's own can be mounted in its "
            f"container: {_said(done)}"
        )


def _said(done: ExecResult[str]) -> str:
    words = " ".join((done.stderr or done.stdout).split()) or f"exit code {done.returncode}"
    if not (words.startswith("bwrap:") and "ermi" in words):  # permissions, not permitted, …
        return words
    return (
        f"{words} (the engine's host must allow user namespaces: see sysctl user."
        "max_user_namespaces and, where it exists, kernel.apparmor_restrict_unprivileged_userns)"
    )
