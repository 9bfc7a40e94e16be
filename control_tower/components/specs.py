"""`MonitorSpec`: an argument that names a monitor, and the arguments of that monitor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from control_tower.components.checked_monitor import CheckedMonitor
from control_tower.components.problems import ComponentProblem
from control_tower.yaml_values import Scalar

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

    from control_tower.components.component import Component
    from control_tower.contracts import Monitor


class MonitorSpec:
    """Which monitor, with which arguments: the type of a parameter that names one.

    On the command line it is a monitor's name, `module.path:name`, or a mapping with the `name`
    and the monitor's own arguments: `-bp 'monitor={name: action-monitor, draws: 3}'`.

    Args:
        name: of the monitor.
        args: the monitor's own arguments. They are checked when it is used or looked at, not
            here: a spec may be a parameter's default, and defaults import nothing.
    """

    def __init__(self, name: str, /, **args: Any) -> None:
        self._name = name
        self._args = dict(args)

    @property
    def name(self) -> str:
        """The monitor's name."""
        return self._name

    @property
    def args(self) -> Mapping[str, Any]:
        """The arguments that are given; the others have the monitor's own defaults."""
        return dict(self._args)

    @property
    def component(self) -> Component[Monitor]:
        """The monitor's registration.

        Raises:
            ComponentProblem: (a `ValueError`) there is no such monitor; it names the nearest.
        """
        from control_tower.components.lookup import look_up

        return look_up("monitor", self._name)

    def checked(self) -> MonitorSpec:
        """The same with its arguments checked and typed.

        Raises:
            ComponentProblem: (a `ValueError`) there is no such monitor, or an argument is wrong.
        """
        return MonitorSpec(self._name, **self.component.checked(self._args))

    def create(self) -> CheckedMonitor:
        """A fresh monitor, for one sample; its answers are checked.

        Raises:
            ComponentProblem: (a `ValueError`) there is no such monitor, or an argument is wrong.
            TypeError: the factory returned something else than a monitor.
        """
        component = self.component
        return CheckedMonitor(component.create(component.checked(self._args)), self._name)

    def bindings(self) -> dict[str, str | None]:
        """The model roles that the monitor binds; see `Component.bindings`."""
        component = self.component
        return component.bindings(component.checked(self._args))

    def try_out(self) -> None:
        """Make it once, and what is in it.

        Raises:
            ComponentProblem: (a `ValueError`) it cannot be made; names the monitor.
        """
        component = self.component
        try:
            component.try_out(component.checked(self._args))
        except ComponentProblem as problem:
            if f"'{component.name}'" in str(problem):
                raise
            raise ComponentProblem(f"'{component.name}': {problem}") from problem.__cause__

    def __eq__(self, other: object) -> bool:
        """Whether it is the same monitor with the same arguments."""
        if not isinstance(other, MonitorSpec):
            return NotImplemented
        return (self._name, self._args) == (other._name, other._args)

    def __hash__(self) -> int:
        """By name: arguments may be lists."""
        return hash(self._name)

    def __repr__(self) -> str:
        """As it is written in Python."""
        parts = [repr(self._name), *(f"{key}={value!r}" for key, value in self._args.items())]
        return f"MonitorSpec({', '.join(parts)})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validated from a spec, a name, or a mapping with `name`; serialised as the last two."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            cls._validated,
            serialization=core_schema.plain_serializer_function_ser_schema(spec_as_json),
        )

    @classmethod
    def _validated(cls, value: Any) -> MonitorSpec:
        if isinstance(value, MonitorSpec):
            return value.checked()
        if isinstance(value, str):
            return cls(value).checked()
        if isinstance(value, Mapping):
            args = dict(value)
            name = args.pop("name", None)
            name = name.text if isinstance(name, Scalar) else name
            if isinstance(name, str):
                return cls(name, **args).checked()
        raise ComponentProblem(
            "it must be a monitor's name, or a mapping with its name and arguments, such as "
            "{name: action-monitor, draws: 3}"
        )


def specs_in(values: Mapping[str, Any]) -> Iterator[tuple[str, MonitorSpec]]:
    """Every spec among the values and in their lists and mappings, with where it is."""
    for key, value in values.items():
        if isinstance(value, MonitorSpec):
            yield key, value
        elif isinstance(value, Mapping):
            yield from specs_in({f"{key}.{inner}": each for inner, each in value.items()})
        elif isinstance(value, list | tuple):
            yield from specs_in({f"{key}.{index}": each for index, each in enumerate(value)})


def spec_as_json(spec: MonitorSpec) -> str | dict[str, Any]:
    """The spec as JSON has it, and as it is written on the command line."""
    return {"name": spec.name, **args_as_json(spec.args)} if spec.args else spec.name


def args_as_json(args: Mapping[str, Any]) -> dict[str, Any]:
    """Checked arguments of a component as JSON has them, for a record of the run."""
    from pydantic_core import to_jsonable_python

    def other(value: Any) -> Any:
        return spec_as_json(value) if isinstance(value, MonitorSpec) else str(value)

    jsonable: dict[str, Any] = to_jsonable_python(dict(args), fallback=other)
    return jsonable
