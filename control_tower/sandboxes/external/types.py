"""Finding the provider that `--sandbox` names."""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from control_tower.components.importing import import_module
from control_tower.components.problems import ComponentProblem
from control_tower.errors import nearest, unknown_words

if TYPE_CHECKING:
    from inspect_ai.util import SandboxEnvironment

INSPECT_DOCKER = "inspect-docker"
"""Our name of Inspect's own `docker`, since `docker` is ours."""

_OURS = ("docker", "bwrap")
_INSPECTS = (INSPECT_DOCKER, "local")
"""Those that Inspect itself has, known without importing it."""
_OUR_PREFIX = "ct-"
"""What the names start with under which our own providers are registered."""


class NoSuchType(Exception):
    """`--sandbox` names no provider; the message says what is nearest, or what to install."""


def check_type(name: str) -> None:
    """Make sure that `name` is a type; Inspect is imported only if it must be.

    Raises:
        NoSuchType: it is none.
    """
    if name in _INSPECTS:
        return
    known = (*_OURS, *_INSPECTS)
    if ":" not in name and not _others_may_be_registered() and nearest(name, known):
        raise NoSuchType(unknown_words("sandbox", name, known))
    provider_of(name)


def provider_of(name: str) -> type[SandboxEnvironment]:
    """The provider that `name` means: a registered type, `module:type`, or `inspect-docker`.

    Raises:
        NoSuchType: there is none.
    """
    from control_tower._inspect_compat import sandbox_types

    module_name, colon, type_name = name.rpartition(":")
    if colon:
        return _of_module(module_name, type_name, name)
    found = sandbox_types()
    wanted = "docker" if name == INSPECT_DOCKER else name
    if wanted in found and not name.startswith(_OUR_PREFIX):
        return found[wanted][0]
    others = {each for each in found if not each.startswith(_OUR_PREFIX)}
    raise NoSuchType(_unknown(name, {*others, *_OURS, *_INSPECTS}))


def _of_module(module_name: str, type_name: str, name: str) -> type[SandboxEnvironment]:
    from control_tower._inspect_compat import sandbox_types

    if not module_name or not type_name:
        raise NoSuchType(f"'{name}' is not module:type")
    try:
        module = import_module(module_name, named_in=name)
    except ComponentProblem as problem:
        raise NoSuchType(str(problem)) from problem.__cause__
    found = sandbox_types()
    classes = found.get(type_name, [])
    if not classes:
        own = [known for known, each in found.items() if any(_is_of(c, module) for c in each)]
        raise NoSuchType(unknown_words(f"sandbox that '{module_name}' registers", type_name, own))
    if len(classes) > 1:
        raise NoSuchType(
            f"'{type_name}' of '{name}' is the name of another sandbox in Inspect, too; register "
            "it under a name of its own"
        )
    return classes[0]


def _is_of(provider: type, module: object) -> bool:
    return provider.__module__ == getattr(module, "__name__", None)


def _unknown(name: str, known: set[str]) -> str:
    from control_tower._inspect_compat import sandbox_package

    words = unknown_words("sandbox", name, known)
    package = sandbox_package(name)
    return f"{words}; '{name}' comes with the package {package}" if package else words


def _others_may_be_registered() -> bool:
    """Whether something may have registered more types than Inspect and we do."""
    installed = {point.name for point in entry_points(group="inspect_ai")}
    return bool(installed - {"control_tower"}) or "inspect_ai" in sys.modules
