"""From the places that may name a role's model to the one that does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from control_tower.components import Component, MonitorSpec
from control_tower.errors import UsageProblem, unknown_name
from control_tower.models.places import (
    INSPECT_VARIABLE,
    PROJECT_FILE,
    PROJECT_TABLE,
    ProjectModels,
    role_variable,
    variable,
)
from control_tower.models.role_models import RoleModels
from control_tower.models.spec import ModelSpec
from control_tower.run_options import REPLAY, RunOptions

UNTRUSTED = "untrusted"
"""The one role that Inspect's own variable is for."""
Chosen = tuple[Component[Any], Mapping[str, Any]]
"""A component and its checked arguments."""
_ARGUMENTS = {"policy": "untrusted_policy_arg", "protocol": "protocol_arg"}
"""Option key of a component's arguments, by kind."""


@dataclass(frozen=True)
class RoleChoice:
    """What a role came to."""

    role: str
    component: Component[Any]
    """The first that binds it."""
    spec: ModelSpec | None
    """None: no place names a model."""
    ways: str
    """Every way to set it, for a message."""


def resolve_models(options: RunOptions, components: Sequence[Chosen]) -> RoleModels:
    """The models of the roles that the chosen components bind.

    Raises:
        UsageProblem: for a role that nobody binds, one that is left without a model, or a
            description of a model that is wrong.
    """
    specs: list[ModelSpec] = []
    for choice in choose_models(options, components):
        if choice.spec is None:
            component = choice.component
            replayed = options.replay_sandbox and component.kind == "policy"
            instead = f", or replay with {options.flag('untrusted_policy')} {REPLAY}"
            raise UsageProblem(
                f"{component.kind} '{component.name}' needs a model for role '{choice.role}': "
                f"{choice.ways}{instead if replayed else ''}"
            )
        specs.append(choice.spec)
    return RoleModels(specs)


def choose_models(options: RunOptions, components: Sequence[Chosen]) -> list[RoleChoice]:
    """What each role that the components bind comes to, sorted by role.

    A policy that the protocol never asks binds none; models that are given for it are passed over.

    Raises:
        UsageProblem: for a role that nobody binds, or a description of a model that is wrong.
    """
    given = _given(options, _known(options, components))
    bound = _bound(options, components)
    if not bound:
        return []
    project = ProjectModels.nearest()
    return [
        RoleChoice(
            role=role,
            component=binders[0].component,
            spec=given.get(role) or _own(role, binders, options) or _elsewhere(role, project),
            ways=_ways(role, binders, options),
        )
        for role, binders in sorted(bound.items())
    ]


def binds_models(options: RunOptions, components: Sequence[Chosen]) -> bool:
    """Whether any of the components needs a model.

    Raises:
        UsageProblem: if a component has two models of its own for a role.
    """
    return bool(_bound(options, components))


def check_roles(options: RunOptions, components: Sequence[Chosen]) -> None:
    """Check what `--model-role` names, without asking for the models that are missing.

    Raises:
        UsageProblem: for a malformed pair, or a role that nobody binds.
    """
    _given(options, _known(options, components))


@dataclass(frozen=True)
class _Binder:
    """A component that binds a role."""

    component: Component[Any]
    args: Mapping[str, Any]
    own: str | None
    """The component's own model for the role."""

    @property
    def spoken(self) -> str:
        """How messages call it."""
        return f"{self.component.kind} '{self.component.name}'"


def _bound(options: RunOptions, components: Sequence[Chosen]) -> dict[str, list[_Binder]]:
    """Who binds each role that is needed."""
    asked = all(component.asks_untrusted for component, _ in components)
    needed = [chosen for chosen in components if asked or chosen[0].kind != "policy"]
    return _known(options, needed)


def _known(options: RunOptions, components: Sequence[Chosen]) -> dict[str, list[_Binder]]:
    """Who binds each role, whether it is needed or not."""
    bound: dict[str, list[_Binder]] = {}
    for component, args in components:
        try:
            bindings = component.bindings(args)
        except ValueError as error:
            key = _ARGUMENTS.get(component.kind)
            flag = options.flag(key) if key else component.name
            raise UsageProblem(f"{flag}: {' '.join(str(error).split())}") from None
        for role, own in bindings.items():
            bound.setdefault(role, []).append(_Binder(component, args, own))
    return bound


def _given(options: RunOptions, known: Mapping[str, Any]) -> dict[str, ModelSpec]:
    flag = options.flag("model_role")
    given: dict[str, ModelSpec] = {}
    for pair in options.model_role:
        role, equals, text = pair.partition("=")
        role = role.strip()
        if not equals or not role or not text.strip() or "{" in role:
            shown = pair if "{" not in pair else pair.partition("{")[0] + "{…"
            raise UsageProblem(f"{flag}: '{shown}' is not role=model")
        if role in given:
            raise UsageProblem(f"{flag}: role '{role}' is given twice")
        if role not in known:
            raise unknown_name("role of the chosen policy and protocol", role, known, flag=flag)
        given[role] = ModelSpec.from_text(role, text, flag)
    return given


def _own(role: str, binders: Sequence[_Binder], options: RunOptions) -> ModelSpec | None:
    named = [binder for binder in binders if binder.own]
    if not named:
        return None
    first = named[0]
    for other in named[1:]:
        if other.own != first.own:
            raise UsageProblem(
                f"role '{role}' has two models: '{first.own}' of {first.spoken} and "
                f"'{other.own}' of {other.spoken}; give {options.flag('model_role')} "
                f"{role}=PROVIDER/MODEL, or one of them only"
            )
    return ModelSpec(role=role, name=str(first.own), place=f"argument of {first.spoken}")


def _elsewhere(role: str, project: ProjectModels) -> ModelSpec | None:
    if text := variable(role_variable(role)):
        return ModelSpec.from_text(role, text, role_variable(role))
    if value := project.models.get(role):
        if isinstance(value, str):
            return ModelSpec.from_text(role, value, project.file)
        return ModelSpec.from_value(role, value, project.file)
    if role == UNTRUSTED and (text := variable(INSPECT_VARIABLE)):
        return ModelSpec.from_text(role, text, INSPECT_VARIABLE)
    return None


def _ways(role: str, binders: Sequence[_Binder], options: RunOptions) -> str:
    flags = [f"{options.flag('model_role')} {role}=PROVIDER/MODEL"]
    for binder in binders:
        if key := _ARGUMENTS.get(binder.component.kind):
            words = _own_ways(role, binder.component, binder.args)
            flags += [f"{options.flag(key)} {each}" for each in words]
    variables = [role_variable(role), *([INSPECT_VARIABLE] if role == UNTRUSTED else [])]
    return (
        f"give {' or '.join(flags)}, or set {' or '.join(variables)}, or write "
        f'{role} = "PROVIDER/MODEL" under [{PROJECT_TABLE}] in {PROJECT_FILE}'
    )


def _own_ways(role: str, component: Component[Any], args: Mapping[str, Any]) -> list[str]:
    """The component's arguments that set the role's model."""
    ways = ["model=PROVIDER/MODEL"] if _takes_model(role, component, args) else []
    for name, value in {**component.signature.defaults, **args}.items():
        if isinstance(value, MonitorSpec) and _takes_model(role, value.component, value.args):
            given = f"role: {role}, " if value.args.get("role") else ""
            ways.append(f"'{name}={{name: {value.name}, {given}model: PROVIDER/MODEL}}'")
    return ways


def _takes_model(role: str, component: Component[Any], args: Mapping[str, Any]) -> bool:
    """Whether the component's argument `model`, if it has one, is for this role."""
    roles = component.own_roles(args)
    if not roles or "model" not in component.signature.parameters:
        return False
    values = {**component.signature.defaults, **args}
    return bool(role == (values.get("role") or roles[0]))
