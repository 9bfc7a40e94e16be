"""An example command line for a component, with arguments that it accepts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from control_tower.components import Component, MonitorSpec, component_names, find_component
from control_tower.components.hints import members, names_monitor
from control_tower.components.spelling import example_value, value_text
from control_tower.errors import UsageProblem

_MODEL = "openai/gpt-4o"
_ENVIRONMENT = ("-e", "ledger", "-t", "hold_rounding")
_RECORDING = ("--trajectory-id", "TRAJECTORY_ID")
_SIDE_TASK = ("-s", "silence_audit")
_FLAGS = {"policy": ("--untrusted-policy", "-up"), "protocol": ("--protocol", "-bp")}
_PREFERRED = "trusted-monitoring"
"""The protocol that shows a monitor."""


def example_command(component: Component[Any], name: str, extra_src: Sequence[str] = ()) -> str:
    """A command line that runs one sample with the component.

    Args:
        component: a policy, a protocol, or a monitor: a protocol that has one is then shown.
        name: what the user calls it.
        extra_src: directories that `name` needs.

    Raises:
        ComponentProblem: (a `ValueError`) a parameter's type cannot be checked.
    """
    pairs = _example_pairs(component)
    if component.kind == "monitor":
        return _of_monitor(component, name, pairs, extra_src)
    return _command(component, name, pairs, extra_src)


def _of_monitor(
    component: Component[Any], name: str, pairs: Mapping[str, str], extra_src: Sequence[str]
) -> str:
    args = _checked(component, pairs) or {}
    names = sorted(component_names("protocol"), key=lambda each: each != _PREFERRED)
    for protocol in (find_component("protocol", each, flag="protocol") for each in names):
        parameters = protocol.signature.parameters.values()
        places = [p.name for p in parameters if names_monitor(p.hint)]
        if places and not protocol.needs:
            value = value_text(MonitorSpec(name, **args))
            return _command(protocol, protocol.name, {places[0]: value}, extra_src)
    return "none: no protocol has a monitor"


def _command(
    component: Component[Any], name: str, pairs: Mapping[str, str], extra_src: Sequence[str]
) -> str:
    flag, short = _FLAGS[component.kind]
    words = ["ct", "run", "eval2", *(_RECORDING if component.replays else _ENVIRONMENT)]
    if component.kind == "policy" and "attack" in component.modes and not component.replays:
        words += _SIDE_TASK
    for directory in extra_src:
        words += ["--extra-src", directory]
    words += [flag, name]
    if "network_control" in component.needs:
        words.append("--network-control")
    for key, text in _in_double_quotes(component, pairs).items():
        words += [short, f"{key}={text}"]
    for role in _roles(component, pairs):
        words += ["--model-role", f"{role}={_MODEL}"]
    return shlex.join(words)


def _in_double_quotes(component: Component[Any], pairs: Mapping[str, str]) -> Mapping[str, str]:
    """The same arguments with YAML's quotes double where they may be: the shell's are single."""
    for key, text in pairs.items():
        doubled = {**pairs, key: text.replace("'", '"')}
        same = _checked(component, doubled)
        if same is not None and same == _checked(component, pairs):
            pairs = doubled
    return pairs


def _roles(component: Component[Any], pairs: Mapping[str, str]) -> Iterator[str]:
    """The roles that a model is to be given for."""
    bound = dict(component.bindings(_checked(component, pairs) or {}))
    if component.kind == "protocol" and component.asks_untrusted:
        untrusted = find_component("policy", "honest", flag="policy").bindings({})
        bound = {**untrusted, **bound}
    yield from (role for role, model in bound.items() if model is None)


def _example_pairs(component: Component[Any]) -> dict[str, str]:
    """Values of all required parameters; if none is, of the first that shows something."""
    parameters = component.signature.parameters.values()
    required = {p.name: example_value(p) or "VALUE" for p in parameters if p.required}
    if required:
        return required
    for parameter in parameters:
        if parameter.name in ("model", "role"):  # which the roles are for
            continue
        shows = parameter.default not in (None, "") or {int, float} & set(members(parameter.hint))
        value = example_value(parameter) if shows else None
        if value is not None and _checked(component, {parameter.name: value}) is not None:
            return {parameter.name: value}
    return {}


def _checked(component: Component[Any], pairs: Mapping[str, str]) -> dict[str, Any] | None:
    """The arguments as the component takes them; None if it does not."""
    try:
        given = [f"{key}={text}" for key, text in pairs.items()]
        return component.parse_args(given, flag="an argument")
    except UsageProblem:
        return None
