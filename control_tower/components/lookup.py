"""Finding components: bundled ones by file name, installed ones, and `module.path:name`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from control_tower.components.component import A_KIND, Component, Kind
from control_tower.components.decorators import kebab, mark_of
from control_tower.components.importing import import_module
from control_tower.components.problems import ComponentProblem, named
from control_tower.errors import UsageProblem, unknown_words
from control_tower.stray_exits import stray_exits_are_errors

_PLACES: Mapping[Kind, str] = {
    "policy": "control_tower.policies",
    "protocol": "control_tower.protocols",
    "monitor": "control_tower.monitors",
    "harness": "control_tower.harnesses",
}
"""The package of the bundled ones, and the group of entry points that plugins use."""


def component_names(kind: Kind) -> list[str]:
    """Names of the bundled and installed components of a kind, without importing them."""
    return sorted({*_bundled(kind), *_installed(kind)})


def find_component(kind: Kind, name: str, *, flag: str) -> Component[Any]:
    """The component called `name`, or the one `module.path:function` names.

    Raises:
        UsageProblem: if there is none; the line names the nearest.
    """
    try:
        return look_up(kind, name)
    except ComponentProblem as problem:
        raise UsageProblem(f"{flag}: {problem}") from problem.__cause__


def look_up(kind: Kind, name: str) -> Component[Any]:
    """As `find_component`, without a flag to name.

    Raises:
        ComponentProblem: (a `ValueError`) if there is none; the line names the nearest.
    """
    if ":" in name:
        return _external(kind, name)
    bundled = _bundled(kind)
    if name in bundled:
        return _in_module(kind, importlib.import_module(bundled[name]), name)
    installed = _installed(kind)
    if name in installed:
        return _of_plugin(kind, installed[name])
    raise ComponentProblem(unknown_words(_spoken(kind), name, [*bundled, *installed]))


def _bundled(kind: Kind) -> dict[str, str]:
    package = find_spec(_PLACES[kind])  # does not import it
    places = package.submodule_search_locations if package else None
    return {
        kebab(module.name): f"{_PLACES[kind]}.{module.name}"
        for module in pkgutil.iter_modules(places or [])
        if not module.name.startswith("_")
    }


def _installed(kind: Kind) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=_PLACES[kind])}


def _external(kind: Kind, reference: str) -> Component[Any]:
    module_name, _, attribute = reference.partition(":")
    module = import_module(module_name, named_in=reference)
    if not hasattr(module, attribute):
        known = [component.factory.__name__ for component in _marks_of(kind, module)]
        raise ComponentProblem(
            unknown_words(f"{_spoken(kind)} in '{module_name}'", attribute, known)
        )
    return _marked(kind, getattr(module, attribute), reference)


def _of_plugin(kind: Kind, point: EntryPoint) -> Component[Any]:
    try:
        with stray_exits_are_errors(f"'{point.name}'"):
            target = point.load()
    except Exception as error:
        owner = point.dist.name if point.dist else "an installed plugin"
        raise ComponentProblem(
            f"'{point.name}' of {owner} cannot be loaded: {named(error)}"
        ) from error
    return _marked(kind, target, point.name)


def _in_module(kind: Kind, module: Any, name: str) -> Component[Any]:
    for component in _marks_of(kind, module):
        if component.name == name:
            return component
    raise ComponentProblem(f"{module.__name__} registers no {_spoken(kind)} named '{name}'")


def _marks_of(kind: Kind, module: Any) -> list[Component[Any]]:
    marks = (mark_of(value, kind) for value in vars(module).values())
    return [mark for mark in marks if mark is not None]


def _marked(kind: Kind, target: Any, name: str) -> Component[Any]:
    mark = mark_of(target, kind)
    if mark is None:
        raise ComponentProblem(
            f"'{name}' does not name {A_KIND[kind]}; mark its factory with @{kind}(…)"
        )
    return mark


def _spoken(kind: Kind) -> str:
    return A_KIND[kind].partition(" ")[2]
