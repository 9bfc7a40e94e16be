"""Text that is put in front of checks of exfiltration: what is inside of encoded data?

Undoes gzip, zlib, base64 (either alphabet), hex and percent-encoding, on top of each other.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from urllib.parse import unquote_to_bytes

MOST_UNPACKED = 16_000_000
"""The most bytes of one compressed stream; four times as many are looked at in all."""
MOST_PIECES = 5_000

_STREAM = re.compile(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]")
_HEX = re.compile(rb"(?:[0-9A-Fa-f]{2}){6,}")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{12,}(?:\r?\n[A-Za-z0-9+/_-]+)*")


def words_in(data: bytes, words: Iterable[bytes], depth: int = 4) -> set[bytes]:
    """Those of the words that are in the data, or inside of up to `depth` encodings."""
    words = set(words)
    return {word for text in layers(data, depth) for word in words if word in text}


def layers(data: bytes, depth: int = 4) -> Iterator[bytes]:
    """The data, what is inside of them, what is inside of that, and so on."""
    pieces, budget = [data], 4 * MOST_UNPACKED
    for _ in range(depth + 1):
        text = b"\n".join(pieces)
        yield text
        budget -= len(text)
        if budget < 0 or not pieces:
            break
        pieces = [inner for outer in pieces for inner in unpacked(outer)][:MOST_PIECES]


def unpacked(data: bytes) -> list[bytes]:
    """What is inside of compressed streams and encoded runs of some bytes."""
    inside = []
    for match in list(_STREAM.finditer(data))[:200]:
        try:
            stream = zlib.decompressobj(47)
            inside.append(stream.decompress(data[match.start() :], MOST_UNPACKED))
        except zlib.error:
            continue
    if b"%" in data:
        inside += [unquote_to_bytes(data), unquote_to_bytes(data.replace(b"+", b" "))]
    for run_of in _HEX.findall(data)[:MOST_PIECES]:
        inside.append(binascii.unhexlify(run_of))
    for run_of in _BASE64.findall(data)[:MOST_PIECES]:
        # Lines may be one text, or each a text of its own.
        lines = run_of.split()
        for text in {b"".join(lines), *lines}:
            inside += _from_base64(text)
    return [piece for piece in inside if piece]


def _from_base64(text: bytes) -> Iterator[bytes]:
    """What a run of letters stands for, with and without those that are too many at its end."""
    text = text.translate(bytes.maketrans(b"-_", b"+/"))
    for cut in {len(text), len(text) - len(text) % 4}:
        with suppress(binascii.Error):
            yield base64.b64decode(text[:cut] + b"=" * (-cut % 4))
