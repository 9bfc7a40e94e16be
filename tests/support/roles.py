"""Binding models to roles outside an eval, where protocols and monitors are tested alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from inspect_ai.model import model_roles
from inspect_ai.model._model import init_model_roles  # in public, only a whole eval binds roles


@contextmanager
def bound_roles(**models: Any) -> Iterator[None]:
    """Bind each role to a model, or to what stands in for one; afterwards all is as before."""
    before = model_roles()
    init_model_roles({**before, **models})
    try:
        yield
    finally:
        init_model_roles(before)
