"""Which model plays which role, and whether it can be called at all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from control_tower.components import Component
from control_tower.errors import UsageProblem, nearest, unknown_name
from control_tower.run_options import RunOptions

INSPECT_VARIABLE = "INSPECT_EVAL_MODEL"


def role_variable(role: str) -> str:
    """The environment variable that sets the model of `role`."""
    return "CT_MODEL_" + role.upper()


def resolve_models(
    options: RunOptions,
    components: Sequence[tuple[Component[Any], Mapping[str, Any]]],
) -> dict[str, str]:
    """Model name by role, for the roles that the chosen components bind.

    Looked up in this order: `--model-role role=model`; the component's own `model` argument
    (for its first role); the environment variable `CT_MODEL_<ROLE>`; Inspect's
    `INSPECT_EVAL_MODEL`.

    Raises:
        UsageProblem: for a role that nobody binds, or one that is left without a model.
    """
    bound = _bound(components)
    given = _given(options, bound)
    return {role: _model_of(role, *bound[role], given, options) for role in sorted(bound)}


def check_roles(
    options: RunOptions,
    components: Sequence[tuple[Component[Any], Mapping[str, Any]]],
) -> None:
    """Check what `--model-role` names, without asking for the models that are missing.

    Raises:
        UsageProblem: for a malformed pair, or a role that nobody binds.
    """
    _given(options, _bound(components))


def check_models(models: Mapping[str, str], *, flag: str) -> None:
    """Make sure each model can be made: its provider exists, its key is set.

    Raises:
        UsageProblem: naming the role, the model and what Inspect says is missing.
    """
    if not models:
        return
    from inspect_ai.model import get_model

    from control_tower._inspect_compat import PrerequisiteError, model_providers, plain_message

    for role, name in models.items():
        provider = name.partition("/")[0]
        providers = model_providers()
        if "/" in name and provider not in providers and nearest(provider, providers):
            raise unknown_name(f"model provider (role {role})", provider, providers, flag=flag)
        try:
            get_model(name)
        except (PrerequisiteError, ValueError, ImportError) as error:
            raise UsageProblem(f"model '{name}' (role {role}): {plain_message(error)}") from None


def _bound(
    components: Sequence[tuple[Component[Any], Mapping[str, Any]]],
) -> dict[str, tuple[Component[Any], Mapping[str, Any]]]:
    return {role: (component, args) for component, args in components for role in component.roles}


def _given(options: RunOptions, bound: Mapping[str, Any]) -> dict[str, str]:
    flag = options.flag("model_role")
    given: dict[str, str] = {}
    for pair in options.model_role:
        role, equals, model = pair.partition("=")
        if not equals or not role or not model:
            raise UsageProblem(f"{flag}: '{pair}' is not role=model")
        if role in given:
            raise UsageProblem(f"{flag}: role '{role}' is given twice")
        if role not in bound:
            raise unknown_name("role of the chosen policy and protocol", role, bound, flag=flag)
        given[role] = model
    return given


def _model_of(
    role: str,
    component: Component[Any],
    args: Mapping[str, Any],
    given: Mapping[str, str],
    options: RunOptions,
) -> str:
    own = args.get("model") if component.roles and component.roles[0] == role else None
    model = (
        given.get(role)
        or own
        or os.environ.get(role_variable(role))
        or os.environ.get(INSPECT_VARIABLE)
    )
    if not model:
        raise UsageProblem(
            f"{component.kind} '{component.name}' needs a model for role '{role}': give "
            f"{options.flag('model_role')} {role}=PROVIDER/MODEL, or set {role_variable(role)} "
            f"or {INSPECT_VARIABLE}"
        )
    return str(model)
