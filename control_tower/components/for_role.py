"""`ForRole`: what a parameter says of the model that its monitors are to ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from control_tower.components.specs import MonitorSpec

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema


@dataclass(frozen=True)
class ForRole:
    """Annotates a parameter that names monitors: they ask the model of `role`.

        monitor: Annotated[MonitorSpec, ForRole("untrusted")]

    A monitor that takes a `role` gets this one, unless it was given a role, or has a model of its
    own. So do the monitors that it names in turn, such as the members of an ensemble. It is done
    when arguments are checked, so that roles that are bound and records tell of it. Defaults of
    the parameter itself are not checked, and name their role.
    """

    role: str

    def put(self, value: Any) -> Any:
        """The value with the role in every monitor that is to have it."""
        if isinstance(value, MonitorSpec):
            return self._put_into(value)
        if isinstance(value, Mapping):
            return {key: self.put(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.put(each) for each in value]
        return tuple(map(self.put, value)) if isinstance(value, tuple) else value

    def _put_into(self, spec: MonitorSpec) -> MonitorSpec:
        component, args = spec.component, dict(spec.args)
        defaults = component.signature.defaults
        for key, value in {**defaults, **args}.items():
            inner = self.put(value)
            if inner is not value and inner != value:
                args[key] = inner
        takes_role = component.own_roles(args) and "role" in component.signature.parameters
        own_model = {**defaults, **args}.get("model")
        if takes_role and not own_model and not args.get("role"):
            args["role"] = self.role
        return MonitorSpec(spec.name, **args)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Validated as the type alone, and then changed."""
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self.put, handler(source))
