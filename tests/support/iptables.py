"""A container's root shell that knows a little of iptables, for tests without a container."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Family = Literal["iptables", "ip6tables"]


class FakeContainer:
    """Runs what the firewall runs; `commands` are those that change something.

    Args:
        iptables: whether there is such a program.
        ip6tables: whether there is this one.
        addresses: what /proc/net/if_inet6 says.
        deaf: programs whose changes have no effect.
    """

    def __init__(
        self,
        *,
        iptables: bool = True,
        ip6tables: bool = True,
        addresses: str = "",
        deaf: Sequence[str] = (),
    ) -> None:
        self._programs = {"iptables": iptables, "ip6tables": ip6tables}
        self._addresses = addresses
        self._deaf = deaf
        self.fails_on: str | None = None
        """Text of a command that fails."""
        self.commands: list[str] = []
        self.lists = 0
        """How many times rules were listed."""
        self.opened: list[str] = []
        """Changes after which the network was open."""
        self.tables = {"iptables": Table()}
        if ip6tables:
            self.tables["ip6tables"] = Table()

    async def __call__(self, command: Sequence[str]) -> str:
        if command[0] == "sh":
            if command[2].startswith("command -v "):
                program = command[2].split()[2]
                return f"/usr/sbin/{program}\n" if self._programs[program] else ""
            return self._addresses
        program, wait, seconds, *arguments = command
        assert (wait, seconds) == ("-w", "5")
        if arguments == ["-S"]:
            self.lists += 1
            return self.tables[program].listing()
        text = " ".join([program, *arguments])
        if self.fails_on is not None and self.fails_on in text:
            raise RuntimeError(f"{text}: Permission denied")
        self.commands.append(text)
        if program not in self._deaf:
            self.tables[program].change(arguments)
        if self.tables[program].open:
            self.opened.append(text)
        return ""

    def is_open(self, program: Family = "iptables") -> bool:
        """Whether packets to and from the network pass."""
        return self.tables[program].open


class Table:
    """One family's rules."""

    def __init__(self) -> None:
        self.policies = {"INPUT": "ACCEPT", "FORWARD": "ACCEPT", "OUTPUT": "ACCEPT"}
        self.chains: dict[str, list[list[str]]] = {name: [] for name in self.policies}

    @property
    def open(self) -> bool:
        """Whether a packet that is not loopback's passes INPUT or OUTPUT."""
        return any(self._verdict(base) == "ACCEPT" for base in ("INPUT", "OUTPUT"))

    def loopback_passes(self) -> bool:
        """Whether a packet to this container itself passes OUTPUT and INPUT."""
        return (
            self._verdict("OUTPUT", "-o") == "ACCEPT" and self._verdict("INPUT", "-i") == "ACCEPT"
        )

    def listing(self) -> str:
        """What `iptables -S` prints."""
        lines = [f"-P {base} {policy}" for base, policy in self.policies.items()]
        lines += [f"-N {name}" for name in self.chains if name not in self.policies]
        lines += [
            " ".join(["-A", name, *rule]) for name, rules in self.chains.items() for rule in rules
        ]
        return "\n".join(lines) + "\n"

    def change(self, arguments: Sequence[str]) -> None:
        """Do as `iptables ARGUMENTS` does."""
        match list(arguments):
            case ["-P", base, policy]:
                self.policies[base] = policy
            case ["-N", name] if name not in self.chains:
                self.chains[name] = []
            case ["-F", name]:
                self.chains[name].clear()
            case ["-A", name, *rule]:
                self.chains[name].append(rule)
            case ["-I", name, "1", *rule]:
                self.chains[name].insert(0, rule)
            case ["-D", name, *rule]:
                self.chains[name].remove(rule)
            case _:
                raise RuntimeError(f"iptables: bad arguments {arguments}")

    def _verdict(self, base: str, loopback: str | None = None) -> str:
        return self._in_chain(base, loopback) or self.policies[base]

    def _in_chain(self, name: str, loopback: str | None) -> str | None:
        for rule in self.chains[name]:
            *conditions, _, target = rule
            if conditions and conditions != [loopback, "lo"]:
                continue
            verdict = target if target in {"ACCEPT", "DROP"} else self._in_chain(target, loopback)
            if verdict is not None:
                return verdict
        return None
