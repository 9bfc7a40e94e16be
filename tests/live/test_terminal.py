"""What a terminal showed, as text."""

from __future__ import annotations

import pytest

from control_tower.live.terminal import readable


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
