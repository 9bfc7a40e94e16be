"""What a sandbox sees: the arguments of bwrap, and the script of its first process.

Two user namespaces, one in the other. bwrap makes the outer one; in it the first process (pid 1)
lives and mounts were made. The inner one, where every command runs as `agent` without capabilities,
is held open by the owner. So the agent can neither signal pid 1 (the kernel protects a pid
namespace's first process) nor trace it (it belongs to an outer namespace): it cannot end its own
sandbox, say to escape a scorer.

Pid 1 has two capabilities over the outer namespace only: SETFCAP, without which the kernel refuses
the inner one its user, and SYS_RESOURCE.
"""

from __future__ import annotations

import os
from pathlib import Path

from control_tower.sandboxes.bwrap.config import BwrapConfig
from control_tower.sandboxes.bwrap.hiding import hidden_folders
from control_tower.sandboxes.bwrap.host import SANDBOX_PATH

AGENT = "agent"
AGENT_UID = 1000
HOME = "/home/agent"
MADE = b"made\n"
"""What is said from the inner user namespace once it is there."""

_MIB = 1024 * 1024
_SMALL = 16 * _MIB
"""Size of the file systems in memory other than /tmp, in bytes."""

_SYSTEM_FOLDERS = ("/usr",)
_SYSTEM_LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = ("alternatives", "ld.so.cache", "localtime", "mime.types", "protocols", "services")
_ETC_NETWORK = (
    *("resolv.conf", "gai.conf", "ssl/certs", "ssl/openssl.cnf", "ca-certificates"),
    *("pki/tls/certs", "pki/tls/openssl.cnf", "pki/ca-trust", "crypto-policies"),
)

FIRST_PROCESS = f"""
echo 1 >/proc/self/fd/0/max_user_namespaces || exit 1
unshare --user --map-user={AGENT_UID} --map-group={AGENT_UID} -- \
    /bin/sh -c 'echo made; kill -STOP $$' 2>&1 &
exec /usr/bin/env --ignore-signal=CHLD /bin/cat <&1
"""
"""Forbids all user namespaces but one, starts that, and becomes a program that only waits.

Standard input is the host's `/proc/sys/user`, since the sandbox's own is read-only: a setting
there is that of the user namespace one looks from. Standard output is a socket. On it the shell in
the inner user namespace tells that it is there, so that the owner, to whom the kernel says who
wrote, can take hold of its namespace and end it.

The first process must not be ended, nor be kept busy, by the agent, who may send it signals and
lower its limits. So it handles no signal: the kernel then protects it, as each first process, and
collects orphans, since SIGCHLD is ignored. It repeats what it hears on the socket until the owner
is gone, whichever way that died, and then ends with all others."""


def bwrap_arguments(
    config: BwrapConfig, sandbox: str, info_fd: int, etc: dict[str, int]
) -> list[str]:
    """The arguments of bwrap for one holder.

    Args:
        config: what the sandbox is to be.
        sandbox: the sandbox's directory, as bwrap's user reaches it.
        info_fd: where bwrap writes the pid of the first process.
        etc: file descriptors with the contents of files made for `/etc`, by name.
    """
    return [
        *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try",),
        *(() if config.network else ("--unshare-net",)),
        *("--uid", "0", "--gid", "0", "--hostname", "sandbox"),
        *("--die-with-parent", "--new-session", "--as-pid-1", "--info-fd", str(info_fd)),
        *("--cap-add", "CAP_SETFCAP", "--cap-add", "CAP_SYS_RESOURCE"),
        *("--clearenv", "--setenv", "PATH", SANDBOX_PATH, "--setenv", "LC_ALL", "C"),
        *_system(config.hidden),
        *_etc(config.network, etc),
        *_private(config),
        *("--bind", f"{sandbox}/home", HOME),
        *("--bind", f"{sandbox}/workspace", config.workspace),
        *("--remount-ro", "/dev", "--remount-ro", "/"),
        *("--", "/bin/sh", "-c", FIRST_PROCESS),
    ]


def etc_files() -> dict[str, bytes]:
    """The files of `/etc` that are made up, by name: they show nothing of the host's users."""
    users = (("root", 0, "/root"), (AGENT, AGENT_UID, HOME), ("nobody", 65534, "/nonexistent"))
    passwd = [f"{name}:x:{uid}:{uid}:{name}:{home}:/bin/sh\n" for name, uid, home in users]
    group = [f"{name}:x:{uid}:\n" for name, uid, _ in users]
    hosts = "127.0.0.1\tlocalhost sandbox\n::1\tlocalhost ip6-localhost\n"
    nsswitch = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\n"
    return {
        "passwd": "".join(passwd).encode(),
        "group": "".join(group).encode(),
        "hosts": hosts.encode(),
        "hostname": b"sandbox\n",
        "nsswitch.conf": nsswitch.encode(),
    }


def _system(hidden: tuple[str, ...]) -> list[str]:
    """`/usr` read-only, and the links into it as the host has them; but not what is hidden."""
    folders, arguments = list(_SYSTEM_FOLDERS), []
    for name in _SYSTEM_LINKS:
        path = Path("/", name)
        if path.is_symlink():
            arguments += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            folders.append(str(path))
    for folder in folders:
        arguments += ["--ro-bind", folder, folder]
    for folder in hidden_folders(folders, hidden):
        arguments += ["--size", "4096", "--tmpfs", folder, "--remount-ro", folder]
    return arguments


def _etc(network: bool, made: dict[str, int]) -> list[str]:
    arguments = ["--dir", "/etc"]
    for name, descriptor in made.items():
        arguments += ["--perms", "0444", "--file", str(descriptor), f"/etc/{name}"]
    for name in (*_ETC, *(_ETC_NETWORK if network else ())):
        arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return arguments


def _private(config: BwrapConfig) -> list[str]:
    """Processes, devices and scratch space of the sandbox's own."""
    tmp = config.tmp_size_mb * _MIB
    return [
        *("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"),
        *("--dev", "/dev", "--perms", "1777", "--size", str(_SMALL), "--tmpfs", "/dev/shm"),
        *("--perms", "0755", "--size", str(_SMALL), "--tmpfs", "/run"),
        *("--perms", "1777", "--size", str(tmp), "--tmpfs", "/tmp"),
        *("--symlink", "../tmp", "/var/tmp", "--symlink", "../run", "/var/run"),
    ]
