"""Text that is put in front of checks of exfiltration: what is inside of encoded data?

Undoes gzip, zlib, base64 (either alphabet), hex and percent-encoding, on top of each other, in
lines or not, and amid other data such as the paths of requests.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from urllib.parse import unquote_to_bytes

MOST_UNPACKED = 64_000_000
"""The most bytes that are looked at in all; what is further inside is not seen."""
MOST_OF_A_STREAM = 16_000_000
"""The most bytes of one compressed stream."""

_STREAM = re.compile(rb"\x1f\x8b\x08|\x78[\x01\x5e\x9c\xda]")
_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")
_HEX = re.compile(rb"[0-9A-Fa-f](?:[ :]?(?:\r?\n)?[0-9A-Fa-f]){11,}")
_NO_HEX = re.compile(rb"[^0-9A-Fa-f]+")
_BASE64 = re.compile(
    rb"[A-Za-z0-9+/_-]{12,}(?:\r?\n[A-Za-z0-9+/_-]+)*|[A-Za-z0-9+/_-]+(?:\r?\n[A-Za-z0-9+/_-]+)+"
)
_USUAL = bytes.maketrans(b"-_", b"+/")


def words_in(data: bytes, words: Iterable[bytes], depth: int = 4) -> set[bytes]:
    """Those of the words that are in the data, or inside of up to `depth` encodings."""
    words = set(words)
    return {word for text in layers(data, depth) for word in words if word in text}


def layers(data: bytes, depth: int = 4) -> Iterator[bytes]:
    """The data, what is inside of them, what is inside of that, and so on; a piece a line."""
    text, seen, left = data, {data}, MOST_UNPACKED
    for _ in range(depth + 1):
        yield text
        pieces = []
        for piece in unpacked(text):
            if piece and piece not in seen:
                seen.add(piece)
                pieces.append(piece)
                left -= len(piece)
            if left < 0:
                break
        text = b"\n".join(pieces)
        if not text:
            break


def unpacked(data: bytes) -> Iterator[bytes]:
    """What is inside of compressed streams and encoded runs of some bytes, the likeliest first."""
    view = memoryview(data)
    for match in _STREAM.finditer(data):
        with suppress(zlib.error):
            yield zlib.decompressobj(47).decompress(view[match.start() :], MOST_OF_A_STREAM)
    if _PERCENT.search(data):
        yield unquote_to_bytes(data)
        yield unquote_to_bytes(data.replace(b"+", b" "))
    digits = [_NO_HEX.sub(b"", match[0]) for match in _HEX.finditer(data)]
    letters = list(chain.from_iterable(_texts(match[0]) for match in _BASE64.finditer(data)))
    # Other letters may be in front: a run may begin at any of its first places.
    for text in digits:
        yield _from_hex(text)
    for text in letters:
        yield _from_base64(text)
    for text in digits:
        yield _from_hex(text[1:])
    for begin in (1, 2, 3):
        for text in letters:
            yield _from_base64(text[begin:])


def _texts(run_of: bytes) -> Iterator[bytes]:
    """The texts that lines may be: all are one, or some are, of one width but the last."""
    lines = run_of.split()
    one: list[bytes] = []
    for line in lines:
        if one and (len(line) > len(one[-1]) or len(one[-1]) < len(one[0])):
            yield b"".join(one)
            one = []
        one.append(line)
    yield b"".join(one)
    if len(lines) > 1:
        yield b"".join(lines)


def _from_hex(text: bytes) -> bytes:
    return binascii.unhexlify(text[: len(text) // 2 * 2])


def _from_base64(text: bytes) -> bytes:
    """What letters stand for; one that is too many at the end is left out."""
    text = text[: len(text) - (len(text) % 4 == 1)].translate(_USUAL)
    return base64.b64decode(text + b"=" * (-len(text) % 4))
