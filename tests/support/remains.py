"""What is there of runs that have one state directory, wherever on the engine's host it is."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from control_tower.sandboxes.docker.engine import (
    OWNER_LABEL,
    SAMPLE_LABEL,
    directory_of,
    engine,
)
from control_tower.sandboxes.docker.host_guard import bridge_prefix
from control_tower.sandboxes.owners import OWNER, is_alive
from support.kills import session_of
from support.networks import on_host

_LOOK = 0.2
"""Seconds between two looks of a watch; it only makes what is searched for more."""
_OWNER = re.compile(rf"{re.escape(OWNER_LABEL)}=([^\s\"]+)")
_HOST = """
iptables -w 5 -t mangle -S
if [ -e /proc/net/if_inet6 ]; then ip6tables -w 5 -t mangle -S; fi
for link in /sys/class/net/*; do echo "link ${link##*/}"; done
"""


class Remains:
    """What there is, and the names of what there was.

    Args:
        state: the state directory; nobody else uses it.
    """

    def __init__(self, state: Path) -> None:
        self.state = state
        self._owners: set[Path] = set()
        """All directories of owners that were ever seen."""
        self._samples: set[str] = set()
        """What the names of all things of all samples that were ever seen begin with."""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take note meanwhile of who is there, so that it is missed wherever it stays."""
        over = threading.Event()

        def look() -> None:
            while not over.wait(_LOOK):
                self._note(_in_engine())

        with ThreadPoolExecutor(1) as thread:
            watch = thread.submit(look)
            try:
                yield
            finally:
                over.set()
            watch.result()

    def seen(self) -> str:
        """How much was seen, for a report."""
        return f"{len(self._owners)} processes with sandboxes, {len(self._samples)} samples"

    def rules(self) -> list[str]:
        """The rules of the host's firewall, whoever lives."""
        return [line for line in on_host(_HOST).splitlines() if self._owner_in(line)]

    def of_the_dead(self, *, apart_from: int | None = None) -> list[str]:
        """A text for each thing whose owner has died, and for each process.

        Args:
            apart_from: the leader of a session whose processes are left out.
        """
        things = _in_engine()
        self._note(things)
        found = [f"{each.kind} {each.name}" for each in things if self._is_left(each)]
        for line in on_host(_HOST).splitlines():
            owner = self._owner_in(line)
            if (owner and not is_alive(owner)) or self._is_dead_bridge(line):
                found.append(line)
        found += [f"directory {p}" for p in self._directories() if not is_alive(p)]
        return found + self.processes(apart_from=apart_from)

    def processes(self, *, apart_from: int | None = None) -> list[str]:
        """Those with the state directory in environment or arguments, or standing beside it.

        Args:
            apart_from: the leader of a session whose processes are left out.
        """
        known = session_of(apart_from) if apart_from else []
        found, variable = [], f"CT_STATE_DIR={self.state}".encode()
        for path in Path("/proc").glob("[0-9]*"):
            if int(path.name) in {os.getpid(), *known}:
                continue
            with suppress(OSError):
                arguments = (
                    (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
                started_by_us = variable in (path / "environ").read_bytes().split(b"\0")
                beside = Path(os.readlink(path / "cwd")).is_relative_to(self.state.parent)
                if started_by_us or beside or str(self.state) in arguments:
                    found.append(f"process {path.name}: {arguments}")
        return found

    def _note(self, things: list[_Thing]) -> None:
        self._owners.update(self._directories())
        for each in things:
            if owner := self._owner(each.labels.get(OWNER_LABEL)):
                self._owners.add(owner)
                self._samples.update({each.labels.get(SAMPLE_LABEL, "")} - {""})

    def _directories(self) -> list[Path]:
        return list(self.state.glob(f"{OWNER}*"))

    def _owner(self, value: str | None) -> Path | None:
        """The owner's directory that a label names, if it is in this state directory."""
        directory = directory_of(value) if value else None
        return directory if directory and directory.parent == self.state else None

    def _owner_in(self, rule: str) -> Path | None:
        named = _OWNER.search(rule)
        return self._owner(named[1]) if named else None

    def _is_left(self, thing: _Thing) -> bool:
        """Also one that the engine made by itself, without labels, under a name of ours."""
        owner = self._owner(thing.labels.get(OWNER_LABEL))
        if owner is not None:
            return not is_alive(owner)
        return any(thing.name.startswith(sample) for sample in self._samples)

    def _is_dead_bridge(self, line: str) -> bool:
        dead = [owner for owner in self._owners if not is_alive(owner)]
        return any(line.startswith(f"link {bridge_prefix(owner)}") for owner in dead)


class _Thing(NamedTuple):
    kind: str
    name: str
    labels: Mapping[str, str]


def _in_engine() -> list[_Thing]:
    """All that the engine has, whosever it is."""
    with engine() as client:
        api: Any = client.api
        containers = api.containers(all=True)
        networks, volumes = api.networks(), api.volumes()["Volumes"] or ()
    return [
        *(
            _Thing("container", name.lstrip("/"), c["Labels"] or {})
            for c in containers
            for name in c["Names"] or ()
        ),
        *(_Thing("network", n["Name"], n["Labels"] or {}) for n in networks),
        *(_Thing("volume", v["Name"], v["Labels"] or {}) for v in volumes),
    ]
