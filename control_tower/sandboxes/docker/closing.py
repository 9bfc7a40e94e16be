"""The seccomp filter of what bubblewrap runs: what made its namespaces possible is taken away.

A program for the kernel's classic BPF machine, written out here, since no library that could do so
is a dependency. It knows 64-bit x86 and ARM and their 32-bit kinds; on others it allows nothing.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_NAMESPACES = 0x7E02_0080
"""All CLONE_NEW… flags, of time, mount, cgroup, uts, ipc, user, pid and network namespaces."""
_OF_CLONE = _NAMESPACES & ~0x80
"""Those that `clone` can have: there 0x80 is a part of a signal's number."""

_EVERYWHERE = (428, 429, 430, 431, 432, 433, 442, 467)
"""open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr, open_tree_attr."""
_CLONE3 = 435


@dataclass(frozen=True)
class _Kind:
    """An architecture, and its numbers of the calls that are closed."""

    audit: int
    denied: tuple[int, ...]
    """mount, umount2, pivot_root, setns; umount where there is one."""
    clone: int
    unshare: int


_KINDS = (
    _Kind(0xC000_003E, (165, 166, 155, 308), clone=56, unshare=272),  # x86-64
    _Kind(0x4000_0003, (21, 52, 217, 346, 22), clone=120, unshare=310),  # i386
    _Kind(0xC000_00B7, (40, 39, 41, 268), clone=220, unshare=97),  # aarch64
    _Kind(0x4000_0028, (21, 52, 218, 375), clone=120, unshare=337),  # arm
)
_X32 = 0x4000_0000
"""Set in the numbers of x86-64's 32-bit kind; allowed to nobody."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in the kernel's seccomp_data
_ALLOW = 0x7FFF_0000
_REFUSE = 0x0005_0000 | 1  # EPERM
_UNKNOWN = 0x0005_0000 | 38  # ENOSYS


def closing_filter() -> bytes:
    """The filter, as bubblewrap's `--seccomp` reads it."""
    program = [_step(_LOAD, _ARCHITECTURE)]
    for kind in _KINDS:
        part = _part(kind)
        program += [_step(_EQUAL, kind.audit, otherwise=len(part)), *part]
    return b"".join([*program, _step(_RETURN, _UNKNOWN)])


def _part(kind: _Kind) -> list[bytes]:
    """What happens on one architecture; every way through it ends in a return."""
    steps = [_step(_LOAD, _NUMBER)]
    if kind.audit == _KINDS[0].audit:
        steps += _when(_AT_LEAST, _X32, [_step(_RETURN, _UNKNOWN)])
    steps += _when(_EQUAL, _CLONE3, [_step(_RETURN, _UNKNOWN)])
    for number in (*kind.denied, *_EVERYWHERE):
        steps += _when(_EQUAL, number, [_step(_RETURN, _REFUSE)])
    for number, flags in ((kind.clone, _OF_CLONE), (kind.unshare, _NAMESPACES)):
        asked = _when(_ANY_BIT, flags, [_step(_RETURN, _REFUSE)])
        body = [_step(_LOAD, _FIRST_ARGUMENT), *asked, _step(_RETURN, _ALLOW)]
        steps += _when(_EQUAL, number, body)
    return [*steps, _step(_RETURN, _ALLOW)]


def _when(comparison: int, value: int, steps: list[bytes]) -> list[bytes]:
    return [_step(comparison, value, otherwise=len(steps)), *steps]


def _step(code: int, value: int, *, otherwise: int = 0) -> bytes:
    """One instruction; `otherwise`: how many are skipped where a comparison does not hold."""
    return struct.pack("<HBBI", code, 0, otherwise, value)
