"""Whether the engine keeps a network's address off the host when it is told to.

Engines before 26.1 take the option and ignore it. So it is tried, once for each engine.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from control_tower.sandboxes.docker.engine import OWNER_LABEL, engine, owner_value
from control_tower.sandboxes.docker.errand import ErrandFailed, run_errand
from control_tower.sandboxes.docker.reach import NO_ADDRESS
from control_tower.sandboxes.errors import SandboxRefused
from control_tower.sandboxes.owners import state_root

if TYPE_CHECKING:
    from docker import DockerClient

_YES, _NO = "withholds addresses", "does not withhold addresses"


def addresses_withheld(image: str, owner: Path) -> bool:
    """Try it, or recall what came of it with this engine.

    Args:
        image: one that the engine has and that has the program `cat`.
        owner: directory of the process that runs the samples.

    Raises:
        SandboxRefused: it cannot be tried.
    """
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        with engine() as client:
            info = client.info()
            which = f"{info.get('ID')} {info.get('ServerVersion')}"
            known = state_root() / f"engine-{hashlib.sha256(which.encode()).hexdigest()[:16]}"
            if known.exists() and (said := known.read_text()) in (_YES, _NO):
                return said == _YES
            found = _tried(client, image, owner_value(owner))
    except (DockerException, RequestException, ErrandFailed) as error:
        raise SandboxRefused(f"the engine's networks cannot be tried: {error}") from None
    written = known.with_name(f"{known.name}.{os.getpid()}")
    written.write_text(_YES if found else _NO)
    written.replace(known)
    return found


def _tried(client: DockerClient, image: str, owner: str) -> bool:
    """Whether the host has the address that a network's gateway would have."""
    labels = {OWNER_LABEL: owner}
    network = client.networks.create(
        f"ct-trial-{os.urandom(6).hex()}",
        driver="bridge",
        internal=True,
        enable_ipv6=False,
        options={NO_ADDRESS: "true"},
        labels=labels,
    )
    try:
        network.reload()
        gateway = network.attrs["IPAM"]["Config"][0]["Gateway"]
        listed = run_errand(client, image, "cat", "/proc/net/fib_trie", owner=owner)
    finally:
        network.remove()
    return f" {gateway}\n" not in listed
