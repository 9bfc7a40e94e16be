"""The registry behind policies, protocols and harnesses: decorators, look-up, arguments.

A component is a factory function marked with a decorator. Its name is the function's in
kebab-case; its parameters, their types, defaults and docstring are its `key=value` arguments.
Bundled components are one module a file and are found by file name, so that listing them
imports nothing; installed plugins are found through entry points; `module.path:name` names
any other.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, get_type_hints

from control_tower.errors import UsageProblem, unknown_name

if TYPE_CHECKING:
    from pydantic import BaseModel

    from control_tower.contracts import BlueProtocol, Harness, Mode, Policy

Kind = Literal["policy", "protocol", "harness"]
T = TypeVar("T")

_MARK = "__control_tower_component__"
_PACKAGES: Mapping[Kind, str] = {
    "policy": "control_tower.policies",
    "protocol": "control_tower.protocols",
    "harness": "control_tower.harnesses",
}
_ENTRY_POINT_GROUPS: Mapping[Kind, str] = {
    "policy": "control_tower.policies",
    "protocol": "control_tower.protocols",
    "harness": "control_tower.harnesses",
}
_SPOKEN: Mapping[Kind, str] = {
    "policy": "untrusted policy",
    "protocol": "protocol",
    "harness": "harness",
}
_A: Mapping[Kind, str] = {
    "policy": "an untrusted policy",
    "protocol": "a protocol",
    "harness": "a harness",
}
_METHOD: Mapping[Kind, str] = {"policy": "generate", "protocol": "generate", "harness": "run"}
"""What an instance must at least be able to do."""


@dataclass(frozen=True)
class Component(Generic[T]):
    """A registered component: what it is called and how to make one."""

    kind: Kind
    name: str
    factory: Callable[..., T]
    modes: frozenset[Mode] = frozenset({"honest", "attack"})
    """Policies: the modes `--all` expands to."""
    asserts: str = ""
    """Policies: the assertion that holds when things go as the policy means them to."""
    roles: tuple[str, ...] = ()
    """Model roles it binds; its `model` argument overrides the first."""
    scores_main_on_attack: bool = False
    """Policies: whether the main task is scored in attack mode as well."""

    def parse_args(self, pairs: Sequence[str], *, flag: str) -> dict[str, Any]:
        """Check `key=value` strings against the factory's signature.

        Values are YAML scalars, lists or mappings, then validated by pydantic; a trial
        instance is made, so that what the factory itself refuses is said here too.

        Raises:
            UsageProblem: for a malformed pair, an unknown or repeated key, or a bad value.
        """
        args = _checked(self, _split(pairs, flag=flag), flag=flag)
        try:
            self.create(args)
        except ValueError as error:
            raise UsageProblem(f"{flag}: {' '.join(str(error).split())}") from None
        except (Exception, SystemExit) as error:
            cause = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise UsageProblem(f"{flag}: '{self.name}' cannot be made: {cause}") from error
        return args

    def create(self, args: Mapping[str, Any]) -> T:
        """A fresh instance, for one sample, from checked arguments.

        Raises:
            TypeError: the factory returned something else than its kind of component.
        """
        made = self.factory(**args)
        if isinstance(made, type) or not callable(getattr(made, _METHOD[self.kind], None)):
            raise TypeError(f"its factory returned {type(made).__name__}, not {_A[self.kind]}")
        return made


def policy(
    *,
    modes: Sequence[Mode],
    asserts: str,
    roles: Sequence[str] = (),
    scores_main_on_attack: bool = False,
) -> Callable[[Callable[..., Policy]], Callable[..., Policy]]:
    """Register an untrusted policy factory.

    Args:
        modes: what `--all` expands to for it.
        asserts: name of the assertion it is for (see `control_tower.episode.verdict`).
        roles: model roles it asks Inspect for; empty when it calls no model.
        scores_main_on_attack: always score the main task in attack mode.
    """

    def mark(factory: Callable[..., Policy]) -> Callable[..., Policy]:
        component: Component[Policy] = Component(
            kind="policy",
            name=_kebab(factory.__name__),
            factory=factory,
            modes=frozenset(modes),
            asserts=asserts,
            roles=tuple(roles),
            scores_main_on_attack=scores_main_on_attack,
        )
        setattr(factory, _MARK, component)
        return factory

    return mark


def protocol(
    *, roles: Sequence[str] = ()
) -> Callable[[Callable[..., BlueProtocol]], Callable[..., BlueProtocol]]:
    """Register a blue protocol factory; `roles` are the model roles it asks Inspect for."""

    def mark(factory: Callable[..., BlueProtocol]) -> Callable[..., BlueProtocol]:
        component: Component[BlueProtocol] = Component(
            kind="protocol", name=_kebab(factory.__name__), factory=factory, roles=tuple(roles)
        )
        setattr(factory, _MARK, component)
        return factory

    return mark


def harness() -> Callable[[Callable[..., Harness]], Callable[..., Harness]]:
    """Register a harness factory."""

    def mark(factory: Callable[..., Harness]) -> Callable[..., Harness]:
        component: Component[Harness] = Component(
            kind="harness", name=_kebab(factory.__name__), factory=factory
        )
        setattr(factory, _MARK, component)
        return factory

    return mark


def component_names(kind: Kind) -> list[str]:
    """Names of the bundled and installed components of a kind, without importing them."""
    return sorted({*_bundled(kind), *_installed(kind)})


def find_component(kind: Kind, name: str, *, flag: str) -> Component[Any]:
    """The component called `name`, or the one `module.path:function` names.

    Raises:
        UsageProblem: if there is none; the line names the nearest.
    """
    if ":" in name:
        return _external(kind, name, flag=flag)
    bundled = _bundled(kind)
    if name in bundled:
        return _in_module(kind, importlib.import_module(bundled[name]), name, flag=flag)
    installed = _installed(kind)
    if name in installed:
        return _marked(kind, installed[name].load(), name, flag=flag)
    raise unknown_name(_SPOKEN[kind], name, [*bundled, *installed], flag=flag)


def _bundled(kind: Kind) -> dict[str, str]:
    package = importlib.import_module(_PACKAGES[kind])
    return {
        _kebab(module.name): f"{_PACKAGES[kind]}.{module.name}"
        for module in pkgutil.iter_modules(package.__path__)
        if not module.name.startswith("_")
    }


def _installed(kind: Kind) -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=_ENTRY_POINT_GROUPS[kind])}


def _external(kind: Kind, reference: str, *, flag: str) -> Component[Any]:
    module_name, _, attribute = reference.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise UsageProblem(f"{flag}: '{module_name}' cannot be imported: {error}") from error
        raise UsageProblem(
            f"{flag}: cannot import '{module_name}' of '{reference}'; is it on PYTHONPATH?"
        ) from None
    except Exception as error:
        cause = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise UsageProblem(f"{flag}: '{module_name}' cannot be imported: {cause}") from error
    if not hasattr(module, attribute):
        known = [c.factory.__name__ for c in _marks_of(kind, module)]
        raise unknown_name(f"{_SPOKEN[kind]} in '{module_name}'", attribute, known, flag=flag)
    return _marked(kind, getattr(module, attribute), reference, flag=flag)


def _in_module(kind: Kind, module: Any, name: str, *, flag: str) -> Component[Any]:
    for component in _marks_of(kind, module):
        if component.name == name:
            return component
    raise UsageProblem(f"{flag}: {module.__name__} registers no {_SPOKEN[kind]} named '{name}'")


def _marks_of(kind: Kind, module: Any) -> list[Component[Any]]:
    marks = (getattr(value, _MARK, None) for value in vars(module).values())
    return [mark for mark in marks if isinstance(mark, Component) and mark.kind == kind]


def _marked(kind: Kind, target: Any, name: str, *, flag: str) -> Component[Any]:
    mark = getattr(target, _MARK, None)
    if not isinstance(mark, Component) or mark.kind != kind:
        raise UsageProblem(
            f"{flag}: '{name}' does not name {_A[kind]}; mark its factory with @{kind}(…)"
        )
    return mark


def _kebab(name: str) -> str:
    return name.replace("_", "-")


def _split(pairs: Sequence[str], *, flag: str) -> dict[str, Any]:
    import yaml

    values: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageProblem(f"{flag}: '{pair}' is not key=value")
        if key in values:
            raise UsageProblem(f"{flag}: '{key}' is given twice")
        try:
            values[key] = yaml.safe_load(text)
        except yaml.YAMLError:
            values[key] = text
    return values


def _checked(component: Component[Any], values: Mapping[str, Any], *, flag: str) -> dict[str, Any]:
    from pydantic import ValidationError

    model = _arguments_model(component)
    fields = list(model.model_fields)
    for key in values:
        if key not in model.model_fields:
            takes = "takes no arguments" if not fields else f"takes {', '.join(fields)}"
            problem = unknown_name(f"argument of '{component.name}'", key, fields, flag=flag)
            raise UsageProblem(f"{problem} ('{component.name}' {takes})")
    try:
        checked = model.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "arguments"
        given = f" (given {first['input']!r})" if where in values else ""
        raise UsageProblem(
            f"{flag}: {where} of '{component.name}': {first['msg']}{given}"
        ) from None
    return {name: getattr(checked, name) for name in values}


def _parameter_hints(factory: Callable[..., Any]) -> dict[str, Any]:
    """Types of the parameters alone: the return type is often imported for checkers only."""
    annotations = {k: v for k, v in factory.__annotations__.items() if k != "return"}
    holder = SimpleNamespace(__annotations__=annotations)
    return get_type_hints(holder, globalns=factory.__globals__, include_extras=True)


def _arguments_model(component: Component[Any]) -> type[BaseModel]:
    from pydantic import ConfigDict, create_model

    hints = _parameter_hints(component.factory)
    fields: dict[str, Any] = {}
    for name, parameter in inspect.signature(component.factory).parameters.items():
        required = parameter.default is inspect.Parameter.empty
        fields[name] = (hints.get(name, Any), ... if required else parameter.default)
    return create_model(
        f"{component.factory.__name__}_arguments",
        __config__=ConfigDict(extra="forbid", coerce_numbers_to_str=True),
        **fields,
    )
