"""A command with the user's terminal as its own, and what that shows."""

from __future__ import annotations

import codecs
import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

_CHUNK = 65536
_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and other commands to the terminal
    r"|\x1b[PX^_][^\x1b]*\x1b\\"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # colours, movements
    r"|\x1b[ -/]*[0-~]"
)


def relay(argv: Sequence[str], hear: Callable[[bytes], bytes]) -> int:
    """Run a command in a terminal of its own, shown on ours; returns its exit code.

    Args:
        argv: program and arguments.
        hear: gets what the command prints, and gives what of it is to be shown.

    Raises:
        OSError: our terminal cannot be used.
    """
    child, master = pty.fork()
    if child == 0:
        with suppress(OSError):
            os.execvp(argv[0], list(argv))
        os._exit(127)
    try:
        with _resized_with_ours(master), _raw(sys.stdin.fileno()):
            _copy(master, hear)
    finally:
        os.close(master)
    return _exit_code(child)


def readable(shown: bytes) -> str:
    """What a terminal showed as text: without colours and movements, corrections applied."""
    text = codecs.decode(shown, "utf-8", "replace").replace("\r\n", "\n")
    text = _corrected(_ESCAPES.sub("", text))
    lines = [line.rsplit("\r", 1)[-1] if "\r" in line.rstrip("\r") else line.rstrip("\r")
             for line in text.split("\n")]  # fmt: skip
    return "".join(c for c in "\n".join(lines) if c in "\n\t" or c.isprintable())


def _corrected(text: str) -> str:
    """The text with what was erased taken out."""
    kept: list[str] = []
    for character in text:
        if character != "\b":
            kept.append(character)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)


def _copy(master: int, hear: Callable[[bytes], bytes]) -> None:
    """Until the command has closed its terminal, or ours is gone."""
    ours, out = sys.stdin.fileno(), sys.stdout.fileno()
    os.set_blocking(master, False)  # or a long paste would wait for a command that waits for us
    typed = b""
    while True:
        reading = [master] if typed else [master, ours]
        ready, writable, _ = select.select(reading, [master] if typed else [], [])
        if master in ready:
            data = _printed(master)
            if not data:
                return
            _write(out, hear(data))
        if ours in ready:
            typed = os.read(ours, _CHUNK)
            if not typed:
                return
        elif writable:
            with suppress(BlockingIOError):
                typed = typed[os.write(master, typed) :]


def _printed(master: int) -> bytes:
    """What the command printed next; nothing when all who had its terminal have closed it."""
    try:
        return os.read(master, _CHUNK)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return b""


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


@contextmanager
def _raw(terminal: int) -> Iterator[None]:
    """Keys go through as they are typed; a terminal that is taken away ends the program."""
    before = termios.tcgetattr(terminal)
    tty.setraw(terminal)
    try:
        yield
    finally:
        with suppress(termios.error):  # it is gone
            termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


@contextmanager
def _resized_with_ours(master: int) -> Iterator[None]:
    """The command's terminal has the size of ours, and is told of a new one."""

    def resize(number: int | None = None, frame: FrameType | None = None) -> None:
        with suppress(OSError):
            size = fcntl.ioctl(
                sys.stdout.fileno(), termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0)
            )
            fcntl.ioctl(master, termios.TIOCSWINSZ, size)

    before: Any = signal.signal(signal.SIGWINCH, resize)
    resize()
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)


def _exit_code(child: int) -> int:
    """The command's, after its end, which the loss of its terminal brings about."""
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
