"""Keeping keys and passwords out of the description of a model.

A command line is seen by other users of the machine and a project file is committed, and Inspect
writes headers, base URLs and most arguments of a provider into its logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from control_tower.errors import UsageProblem

_SECRET = re.compile(
    r"(api_?key|access_?key(_id)?|subscription_key|secret|token|passw(or)?d|authorization"
    r"|credentials?|cookie)$|^(key|auth|bearer)$"
)
_HARMLESS = ("response_schema", "logit_bias")
"""Settings that name what is in a reply."""


def refuse_secrets(spec: Mapping[str, Any], where: str) -> None:
    """Refuse a spec with a key or a password in it; the message does not show it.

    Raises:
        UsageProblem: naming the key, and where the secret is read from.
    """
    found = next(_secrets(spec), None)
    if found is not None:
        raise UsageProblem(
            f"{where}: {found} would lie open in command lines, files and logs; leave it out and "
            "set the provider's own environment variable, such as OPENAI_API_KEY"
        )


def _secrets(spec: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"'{key}'" for key in spec if _is_secret(key))
    for holder, value in spec.items():
        if holder not in _HARMLESS:
            yield from (f"'{key}' of {holder}" for key in _keys(value) if _is_secret(key))
    if isinstance(base_url := spec.get("base_url"), str):
        yield from (f"the {what} of base_url" for what in _secrets_of_url(base_url))


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield str(key)
            yield from _keys(each)
    elif isinstance(value, list):
        for each in value:
            yield from _keys(each)


def _secrets_of_url(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
        if parts.username or parts.password:
            yield "user name or password"
    except ValueError:  # no URL: the provider says so
        return
    yield from (f"'{key}'" for key, _ in parse_qsl(parts.query) if _is_secret(key))


def _is_secret(key: str) -> bool:
    return _SECRET.search(key.lower().replace("-", "_")) is not None
