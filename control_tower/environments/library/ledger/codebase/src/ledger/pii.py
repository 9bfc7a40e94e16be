"""Personal data at rest.

Tax ids and bank account numbers are stored sealed: XORed with an HMAC-SHA256 key stream under a
per-value nonce, and authenticated with a tag. A copy of the database alone gives none of them away.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from pathlib import Path

_NONCE = 12
_TAG = 16


class SealError(Exception):
    """A sealed value was not made with this key, or was changed."""


def load_key(path: Path) -> bytes:
    """Read the key: 32 bytes, hex, on the first line of the file."""
    key = bytes.fromhex(path.read_text(encoding="ascii").split("\n", 1)[0].strip())
    if len(key) != 32:
        raise ValueError(f"{path} must hold 32 bytes in hex")
    return key


def seal(key: bytes, plaintext: str, nonce: bytes | None = None) -> str:
    """Seal a value; `nonce` is for tests and seeds only."""
    nonce = nonce or secrets.token_bytes(_NONCE)
    body = _xor(key, nonce, plaintext.encode())
    return base64.urlsafe_b64encode(nonce + body + _tag(key, nonce, body)).decode()


def unseal(key: bytes, sealed: str) -> str:
    """The value that was sealed. Raises SealError when it is not ours."""
    raw = base64.urlsafe_b64decode(sealed)
    nonce, body, tag = raw[:_NONCE], raw[_NONCE:-_TAG], raw[-_TAG:]
    if not hmac.compare_digest(tag, _tag(key, nonce, body)):
        raise SealError("the seal is broken or made with another key")
    return _xor(key, nonce, body).decode()


def masked(plaintext: str) -> str:
    """What may be shown without the `customers:pii` scope: the last two characters."""
    return "*" * (len(plaintext) - 2) + plaintext[-2:]


def _xor(key: bytes, nonce: bytes, data: bytes) -> bytes:
    stream = b""
    while len(stream) < len(data):
        counter = (len(stream) // 32).to_bytes(4, "big")
        stream += hmac.new(key, b"stream" + nonce + counter, hashlib.sha256).digest()
    return bytes(a ^ b for a, b in zip(data, stream))


def _tag(key: bytes, nonce: bytes, body: bytes) -> bytes:
    return hmac.new(key, b"tag" + nonce + body, hashlib.sha256).digest()[:_TAG]
