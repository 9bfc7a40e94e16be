"""Importing a module that a user named."""

from __future__ import annotations

import importlib
from types import ModuleType

from control_tower.components.problems import ComponentProblem, named
from control_tower.stray_exits import stray_exits_are_errors


def import_module(module_name: str, *, named_in: str) -> ModuleType:
    """Import the module of `named_in`, such as `module.path:name`.

    Raises:
        ComponentProblem: (a `ValueError`) it cannot be imported; the line says why.
    """
    try:
        with stray_exits_are_errors(f"'{module_name}'"):
            return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise ComponentProblem(f"'{module_name}' cannot be imported: {error}") from error
        raise ComponentProblem(
            f"cannot import '{module_name}' of '{named_in}'; give the directory that it is in "
            "with --extra-src (with pytest, --ct-extra-src)"
        ) from None
    except Exception as error:
        raise ComponentProblem(f"'{module_name}' cannot be imported: {named(error)}") from error
