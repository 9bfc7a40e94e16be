"""Rules of the firewall on the engine's host, for bridges whose names begin as an owner's do.

The engine's host may be another machine, or a virtual one. So the rules are made from a container
that lives for a moment: it is in the host's network, has its files (read-only but for /run, where
iptables takes its lock), and of the capabilities those that this takes. The rules name their owner.

Several processes may lift the same rules at once: each ends well when they are gone.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from base64 import b32encode
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from control_tower.sandboxes.docker.engine import OWNER_LABEL, engine
from control_tower.sandboxes.docker.errand import ErrandFailed, ProgramMissing, run_errand
from control_tower.sandboxes.system_path import SYSTEM_PATH

if TYPE_CHECKING:
    from docker import DockerClient

_RULES = (
    # Its addresses, before a published port of another container is looked for at them.
    "iptables PREROUTING -i {bridges}+ -m addrtype --dst-type LOCAL {mark} -j DROP",
    # What is meant for all on the link, and taken by the host as well.
    "iptables INPUT -i {bridges}+ {mark} -j DROP",
    # Services of the cloud for its machines, credentials among them.
    "iptables FORWARD -i {bridges}+ -d 169.254.0.0/16 {mark} -j DROP",
    "ip6tables PREROUTING -i {bridges}+ {mark} -j DROP",
)
_PREPARED = (
    f"PATH={SYSTEM_PATH}"
    + """
iptables() { command iptables -w 5 -t mangle "$@"; }
if [ -e /proc/net/if_inet6 ]
then ip6tables() { command ip6tables -w 5 -t mangle "$@"; }
else ip6tables() { [ $1 = -S ] || return $absent; }
fi
"""
)
_ADD = """
absent=0
add() { program=$1; shift; $program -C "$@" 2>/dev/null || $program -I "$@"; }
"""
_LIFT = """
absent=1
lift() {
    program=$1; shift
    for try in 1 2 3 4 5 6 7 8
    do
        $program -C "$@" 2>/dev/null
        case $? in
            0) ! said=$($program -D "$@" 2>&1) || echo lifted;;
            4) said='somebody else holds its tables'; return 1;;
            *) return 0;;
        esac
    done
    return 1
}
"""
"""Other failures to check than 4 mean that there is no such rule. A deletion that fails may be that
of a rule which somebody else has just deleted, so it is looked again."""
_LIST = """
(unset -f iptables; command -v iptables >/dev/null) || exit 0
iptables -S && ip6tables -S
"""
"""A host without iptables has no such rules."""
_STILL_NEEDED = 71
"""Exit code when bridges are left that the rules are for."""
_COMMENT = re.compile(r'--comment (?:"((?:[^"\\]|\\.)*)"|(\S+))')
_BUILT = re.compile(r"control-tower-[a-z0-9-]+:[0-9a-f]{16}")
"""Names of images that were built for environments, as `images` gives them."""
_TRIES = 5
"""So many of those are tried."""


class StillNeeded(Exception):
    """There are bridges that the rules are for."""

    def __init__(self) -> None:
        super().__init__("there are still bridges on the host that they are for")


def prefix_of(value: str) -> str:
    """What the names of an owner's guarded bridges begin with; 7 characters.

    Args:
        value: that of the owner's label.
    """
    digest = hashlib.sha256(value.encode()).digest()
    return "ct" + b32encode(digest).decode().lower()[:5]


def add_rules(value: str, image: str) -> frozenset[str]:
    """Make an owner's rules, those that are not there, and say who has some.

    Args:
        value: that of the owner's label.
        image: one that the engine has and that has the program `chroot`.

    Returns:
        Values of the labels of all owners that have rules.

    Raises:
        ErrandFailed: they cannot be made; some of them may be there.
        docker.errors.DockerException: the engine refuses, or does not answer.
    """
    lines = [f"add {rule} || exit 1" for rule in _rules(value)]
    script = "\n".join([_PREPARED, _ADD, *lines, _LIST])
    with engine() as client:
        return _owners(_on_host(client, script, image, value))


def owners_with_rules(images: Iterable[str], *, by: str) -> frozenset[str]:
    """Values of the labels of owners that have rules.

    Args:
        images: to look with; others of ours are tried after them.
        by: value of the label of an owner that has a directory while this is done.

    Raises:
        ErrandFailed: the firewall cannot be looked at.
        docker.errors.DockerException: the engine refuses, or does not answer.
    """
    return _owners(_with_some_image(_PREPARED + _LIST, images, by))


def remove_rules(value: str, images: Iterable[str], *, by: str) -> int:
    """Remove an owner's rules, and say how many there were.

    Args:
        value: that of the owner's label.
        images: to do it with; others of ours are tried after them.
        by: value of the label of an owner that has a directory while this is done.

    Raises:
        StillNeeded: there are bridges that they are for; nothing is done.
        ErrandFailed: they cannot be removed.
        docker.errors.DockerException: the engine refuses, or does not answer.
    """
    look = f"[ ! -e $bridge ] || exit {_STILL_NEEDED}"
    lines = [f"for bridge in /sys/class/net/{prefix_of(value)}*; do {look}; done"]
    give_up = '{ echo "$said" >&2; exit 1; }'
    lines += [f"lift {rule} || {give_up}" for rule in _rules(value)]
    script = "\n".join([_PREPARED, _LIFT, *lines])
    try:
        printed = _with_some_image(script, images, by)
    except ErrandFailed as failed:
        if failed.exit_code == _STILL_NEEDED:
            raise StillNeeded from None
        raise
    return printed.count("lifted")


def _rules(value: str) -> list[str]:
    """An owner's rules, with the program first that they are given to."""
    mark = f"-m comment --comment {shlex.quote(f'{OWNER_LABEL}={value}')}"
    return [rule.format(bridges=prefix_of(value), mark=mark) for rule in _RULES]


def _owners(listing: str) -> frozenset[str]:
    """Values of our label in the comments of rules."""
    comments = (quoted or bare for quoted, bare in _COMMENT.findall(listing))
    named = (re.sub(r"\\(.)", r"\1", comment).partition("=") for comment in comments)
    return frozenset(value for label, _, value in named if label == OWNER_LABEL)


def _with_some_image(script: str, images: Iterable[str], by: str) -> str:
    """As `_on_host`, with the first image that there is and that can."""
    from docker.errors import ImageNotFound

    with engine() as client:
        for image in chain(dict.fromkeys(images), _built(client)):
            try:
                return _on_host(client, script, image, by)
            except (ImageNotFound, ProgramMissing):
                continue
    raise ErrandFailed(1, "the engine has no image of an environment with the program chroot")


def _built(client: DockerClient) -> Iterator[str]:
    """Some images that were built for environments, the newest first."""
    found = client.api.images(filters={"reference": "control-tower-*"})
    found.sort(key=lambda image: image["Created"], reverse=True)
    tags = {tag: image["Id"] for image in found for tag in image["RepoTags"] or ()}
    tag_of = {id: tag for tag, id in tags.items() if _BUILT.fullmatch(tag)}
    yield from list(tag_of.values())[:_TRIES]


def _on_host(client: DockerClient, script: str, image: str, owner: str) -> str:
    """What a script prints that runs as root among the files and interfaces of the engine's host.

    Raises:
        ErrandFailed: it failed.
        docker.errors.DockerException: the engine refuses.
    """
    return run_errand(
        client,
        image,
        "chroot",
        *("/host", "/bin/sh", "-c", script),
        owner=owner,
        cap_drop=["ALL"],
        cap_add=["NET_ADMIN", "NET_RAW", "SYS_CHROOT"],
        security_opt=["label=disable"],
        volumes=["/:/host:ro", "/run:/host/run"],
    )
