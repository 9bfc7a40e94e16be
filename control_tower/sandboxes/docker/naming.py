"""Names that no two samples share."""

from __future__ import annotations

import secrets

_LONGEST_INTERFACE = 15
"""Characters of a network interface's name, in Linux."""


def sample_name() -> str:
    """A name for one more sample: what the names of all that it has begin with."""
    return f"ct-{secrets.token_hex(5)}"


def bridge_name(beginning: str) -> str:
    """A name for the bridge of one more network; the `host_guard` knows it by its beginning."""
    return f"{beginning}{secrets.token_hex(_LONGEST_INTERFACE)}"[:_LONGEST_INTERFACE]
