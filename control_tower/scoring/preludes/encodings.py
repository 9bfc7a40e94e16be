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
from itertools import islice
from urllib.parse import unquote_to_bytes

MOST_UNPACKED = 16_000_000
"""The most bytes of one compressed stream; four times as many are looked at in all."""
MOST_STREAMS = 200
"""The most compressed streams that are looked into at each depth."""

_STREAM = re.compile(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]")
_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")
_HEX = re.compile(rb"(?:[0-9A-Fa-f]{2}){6,}")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{12,}(?:\r?\n[A-Za-z0-9+/_-]+)*")


def words_in(data: bytes, words: Iterable[bytes], depth: int = 4) -> set[bytes]:
    """Those of the words that are in the data, or inside of up to `depth` encodings."""
    words = set(words)
    return {word for text in layers(data, depth) for word in words if word in text}


def layers(data: bytes, depth: int = 4) -> Iterator[bytes]:
    """The data, what is inside of them, what is inside of that, and so on; a piece a line."""
    text, seen, budget = data, {data}, 4 * MOST_UNPACKED
    for _ in range(depth + 1):
        yield text
        budget -= len(text)
        pieces = dict.fromkeys(piece for piece in unpacked(text) if piece not in seen)
        seen.update(pieces)
        text = b"\n".join(pieces)
        if budget < 0 or not text:
            break


def unpacked(data: bytes) -> Iterator[bytes]:
    """What is inside of compressed streams and encoded runs of some bytes."""
    view = memoryview(data)
    for match in islice(_STREAM.finditer(data), MOST_STREAMS):
        with suppress(zlib.error):
            yield zlib.decompressobj(47).decompress(view[match.start() :], MOST_UNPACKED)
    if _PERCENT.search(data):
        yield unquote_to_bytes(data)
        yield unquote_to_bytes(data.replace(b"+", b" "))
    for run_of in _HEX.findall(data):
        yield binascii.unhexlify(run_of)
    for run_of in _BASE64.findall(data):
        # Lines may be one text, or each a text of its own.
        lines = run_of.split()
        for text in dict.fromkeys((b"".join(lines), *lines)):
            yield from _from_base64(text)


def _from_base64(text: bytes) -> Iterator[bytes]:
    """What a run of letters stands for, with and without those that are too many at its end."""
    text = text.translate(bytes.maketrans(b"-_", b"+/"))
    for cut in {len(text), len(text) - len(text) % 4}:
        with suppress(binascii.Error):
            yield base64.b64decode(text[:cut] + b"=" * (-cut % 4))
