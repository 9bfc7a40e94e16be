"""What is kept of a command's output."""

from __future__ import annotations

import anyio
import pytest

from control_tower.sandboxes.docker.outputs import AnnouncedTail, Tail


@pytest.mark.parametrize(
    ("chunks", "kept"),
    [
        ([], b""),
        ([b"abc"], b"abc"),
        ([b"abc", b"", b"defg"], b"cdefg"),
        ([b"0123456789"], b"56789"),
        ([b"a"] * 1000, b"aaaaa"),
    ],
)
def test_a_tail_keeps_the_last_bytes(chunks, kept):
    tail = Tail(5)
    for chunk in chunks:
        tail.write(chunk)
    assert tail.kept() == kept


def test_a_tail_holds_little_more_than_it_keeps():
    tail = Tail(1000)
    for _ in range(10_000):
        tail.write(b"x" * 500)
    assert sum(map(len, tail._chunks)) <= 1500


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_announced_number_is_no_part_of_the_stream(size):
    whole = b"ld.so: cannot preload\nabc:123\nthe rest\nabc:9\n"

    async def body():
        tail = AnnouncedTail(1000, "abc")
        for start in range(0, len(whole), size):
            tail.write(whole[start : start + size])
        tail.end()
        assert tail.decided.is_set()
        assert tail.pid == 123
        assert tail.kept() == b"ld.so: cannot preload\nthe rest\nabc:9\n"

    anyio.run(body)


def test_all_but_the_announcement_is_heard():
    async def body():
        heard = []
        tail = AnnouncedTail(4, "abc", heard.append)
        for chunk in (b"abc:1", b"23\nfirst", b"", b" and second"):
            tail.write(chunk)
        tail.end()
        assert heard == [b"first", b" and second"]
        assert tail.kept() == b"cond"

    anyio.run(body)


def test_a_stream_that_announces_nothing_is_kept_whole():
    async def body():
        tail = AnnouncedTail(1000, "abc")
        tail.write(b"abc:no number")
        assert not tail.decided.is_set()
        tail.end()
        assert tail.decided.is_set()
        assert (tail.pid, tail.kept()) == (None, b"abc:no number")

    anyio.run(body)


@pytest.mark.parametrize("forged", [b"9" * 5000, b"", b"-1", "²".encode(), b" 1", b"1 "])
def test_what_is_no_number_of_a_process_is_a_part_of_the_stream(forged: bytes) -> None:
    """As an agent's process writes it that has seen the marker."""

    async def body() -> None:
        tail = AnnouncedTail(10_000, "abc")
        tail.write(b"abc:" + forged + b"\n")
        assert not tail.decided.is_set()
        tail.write(b"abc:123\nrest")
        assert tail.pid == 123
        assert tail.kept() == b"abc:" + forged + b"\nrest"

    anyio.run(body)
