"""What a terminal showed, as text."""

from __future__ import annotations

import os
import pty
import select
import sys
import time

import pytest

from control_tower.live.terminal import readable

RELAYS = """
from control_tower.live.terminal import relay
relay(["bash", "-c", "stty raw -echo; echo ready; exec cat"], lambda data: data)
"""


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (b"plain\r\nlines\r\n", "plain\nlines\n"),
        (b"\x1b[1;31mred\x1b[0m \x1b[2Kclean", "red clean"),
        (b"\x1b]0;title\x07after", "after"),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"ecoh\x08 \x08\x08 \x08\x08 \x08cho hi", "echo hi"),
        (b"ab\b\b\b\bcd\r\nx\by\r\n", "cd\ny\n"),
        (b"\x1bPnever ended, \x1bP\x1bq", "never ended, "),
        (b"10%\r50%\r100%\r\n", "100%\n"),
        (b"tab\there", "tab\there"),
        (b"bell\x07 null\x00 \x7f", "bell null "),
        ("caf\u00e9 \u2713 \u202e".encode(), "caf\u00e9 \u2713 "),
        (b"half \xff", "half \ufffd"),
        (b"", ""),
    ],
)
def test_it_is_without_what_only_a_terminal_understands(shown: bytes, text: str) -> None:
    assert readable(shown) == text


def test_a_paste_is_taken_however_long_it_is() -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", RELAYS])
    os.set_blocking(terminal, False)
    printed, rest, deadline = b"", b"", time.monotonic() + 60
    try:
        while printed.count(b"x") < 1_000_000:
            assert time.monotonic() < deadline, f"{printed.count(b'x')} characters came back"
            can_read, can_write, _ = select.select([terminal], [terminal] if rest else [], [], 1)
            if can_read:
                before, printed = printed, printed + os.read(terminal, 65536)
                if b"ready" in printed and b"ready" not in before:
                    rest = b"x" * 1_000_000
            if can_write:
                rest = rest[os.write(terminal, rest) :]
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)
