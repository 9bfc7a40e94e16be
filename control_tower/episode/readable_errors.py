"""Errors in words: what Inspect keeps of an exception is its `repr`."""

from __future__ import annotations

import ast
import re

_REPR = re.compile(r"(?P<kind>[A-Za-z_][\w.]*)\((?P<text>(['\"]).*\3),?\)", re.DOTALL)
_REQUEST, _END_OF_REQUEST = "\nRequest:\n", "\n}\n\n"
"""Around the request, or its last lines, as indented JSON, that Inspect puts before the answer."""


def readable(message: str) -> str:
    """Inspect's message, with `Error('text')` (an exception's repr) as `Error: text`.

    Of a request that the model's provider refused, only the provider's answer is kept.
    """
    found = _REPR.fullmatch(message.strip())
    if found is None:
        return message
    try:
        text = ast.literal_eval(found["text"])
    except (ValueError, SyntaxError):
        return message
    if not isinstance(text, str):
        return message
    request, end, answer = text.partition(_END_OF_REQUEST)
    if end and request.startswith(_REQUEST):
        return readable(answer)
    return f"{found['kind']}: {text}"
