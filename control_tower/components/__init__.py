"""The registry behind policies, protocols, monitors and harnesses.

A component is a factory function marked with a decorator. Its name is the function's in
kebab-case; its parameters, their types, defaults and docstring are its `key=value` arguments.
Bundled components are one module a file and are found by file name, so that listing them
imports nothing; installed plugins are found through entry points; `module.path:name` names
any other.
"""

from control_tower.components.component import Component, Kind, Need
from control_tower.components.decorators import harness, monitor, policy, protocol
from control_tower.components.for_role import ForRole
from control_tower.components.lookup import component_names, find_component
from control_tower.components.problems import ComponentProblem
from control_tower.components.specs import MonitorSpec, args_as_json

__all__ = [
    "Component",
    "ComponentProblem",
    "ForRole",
    "Kind",
    "MonitorSpec",
    "Need",
    "args_as_json",
    "component_names",
    "find_component",
    "harness",
    "monitor",
    "policy",
    "protocol",
]
