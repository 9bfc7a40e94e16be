"""The agent's network, opened and closed with iptables in its container.

Everything is in one chain, to which INPUT and OUTPUT jump first. Closed, it lets loopback through
and drops the rest; granted, one rule before these accepts everything. So each change is one command
a program, and nothing is open in between. The policies of INPUT and OUTPUT are DROP in both states,
so that a container whose rules are flushed is closed.

Connections that were made while the network was granted are not kept when it is taken away: they
would outlive the privilege. And names are not looked up: Docker's resolver has an address of the
loopback, and may ask the host's resolvers on the host.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from control_tower.contracts import RootShell

CHAIN = "CT-PRIVILEGE"

Rule: TypeAlias = tuple[str, ...]
"""Arguments of iptables."""

_GRANT: Rule = ("-j", "ACCEPT")
_CLOSED: tuple[Rule, ...] = (
    ("-i", "lo", "-j", "ACCEPT"),
    ("-o", "lo", "-j", "ACCEPT"),
    ("-j", "DROP"),
)
_RESOLVER: Rule = ("-d", "127.0.0.11/32", "-j", "DROP")
_BASES = ("INPUT", "OUTPUT")
_WAIT = ("-w", "5")
"""Seconds to wait for another program that holds the tables."""


def changes(listing: str, *, granted: bool, program: str = "iptables") -> list[Rule]:
    """What is to be changed, in order; nothing if all is as it should be.

    Args:
        listing: what `iptables -S` printed.
        granted: whether the network is to be open.
        program: `iptables` or `ip6tables`.
    """
    closed = _CLOSED if program == "ip6tables" else (_RESOLVER, *_CLOSED)
    open_ = (_GRANT, *closed)
    policies, rules = _read(listing)
    own = rules.get(CHAIN)
    todo: list[Rule] = []
    if own == open_ and not granted:
        todo.append(("-D", CHAIN, *_GRANT))
    todo += [("-P", base, "DROP") for base in _BASES if policies.get(base) != "DROP"]
    if own is None:
        todo.append(("-N", CHAIN))
    if own not in (closed, open_):
        todo += [("-F", CHAIN)] if own else []
        todo += [("-A", CHAIN, *rule) for rule in closed]
    for base in _BASES:
        if rules.get(base, ())[:1] != (("-j", CHAIN),):
            todo.append(("-I", base, "1", "-j", CHAIN))
    if own != open_ and granted:
        todo.append(("-I", CHAIN, "1", *_GRANT))
    return todo


class NoIptables(RuntimeError):
    """The container's image has no iptables."""


class Firewall:
    """One container's.

    Args:
        root: runs commands as root in the container.
    """

    def __init__(self, root: RootShell) -> None:
        self._root = root
        self._programs: Sequence[str] = ()

    async def close(self) -> list[str]:
        """Take the network away; the commands that were needed for it.

        Raises:
            NoIptables: the image has none.
            RuntimeError: a command failed or had no effect, or IPv6 cannot be closed.
        """
        return await self._set(granted=False)

    async def grant(self) -> list[str]:
        """Give the network; the commands that were needed for it.

        Raises:
            NoIptables: the image has none.
            RuntimeError: a command failed or had no effect, or IPv6 cannot be closed.
        """
        return await self._set(granted=True)

    async def _set(self, *, granted: bool) -> list[str]:
        if not self._programs:
            self._programs = await self._found()
        done: list[str] = []
        for program in self._programs:
            needed = await self._changes(program, granted)
            for rule in needed:
                await self._root([program, *_WAIT, *rule])
                done.append(shlex.join([program, *rule]))
            if needed and (left := await self._changes(program, granted)):
                missing = shlex.join([program, *left[0]])
                raise RuntimeError(f"the network's rules are not as they were set: '{missing}'")
        return done

    async def _changes(self, program: str, granted: bool) -> list[Rule]:
        listing = await self._root([program, *_WAIT, "-S"])
        return changes(listing, granted=granted, program=program)

    async def _found(self) -> Sequence[str]:
        if not await self._has("iptables"):
            raise NoIptables("the agent's image has no iptables")
        if await self._has("ip6tables"):
            return ("iptables", "ip6tables")
        addresses = await self._root(["sh", "-c", "cat /proc/net/if_inet6 2>/dev/null || true"])
        if any(line.split()[-1:] != ["lo"] for line in addresses.splitlines() if line.strip()):
            raise RuntimeError("the container has IPv6 but no ip6tables, so it cannot be closed")
        return ("iptables",)

    async def _has(self, program: str) -> bool:
        return bool((await self._root(["sh", "-c", f"command -v {program} || true"])).strip())


def _read(listing: str) -> tuple[dict[str, str], dict[str, tuple[Rule, ...]]]:
    """The policies of the chains, and the rules of each chain in order."""
    policies: dict[str, str] = {}
    rules: dict[str, tuple[Rule, ...]] = {}
    for line in listing.splitlines():
        match shlex.split(line):
            case ["-P", chain, policy, *_]:
                policies[chain] = policy
            case ["-N", chain]:
                rules.setdefault(chain, ())
            case ["-A", chain, *rule]:
                rules[chain] = (*rules.get(chain, ()), tuple(rule))
    return policies, rules
