"""Who hears what commands print."""

from __future__ import annotations

from control_tower.sandboxes.listening import Stream, listener, listening


def test_a_command_that_begins_while_somebody_listens_is_heard_to_its_end() -> None:
    heard: list[tuple[Stream, bytes]] = []
    before = listener("stdout")
    with listening(lambda stream, chunk: heard.append((stream, chunk))):
        out, err = listener("stdout"), listener("stderr")
    before(b"no")
    out(b"a")
    err(b"b")
    listener("stdout")(b"no")
    assert heard == [("stdout", b"a"), ("stderr", b"b")]
