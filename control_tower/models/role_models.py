"""The models of a run: their names by role, and the models themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, final

from control_tower.errors import UsageProblem, unknown_name
from control_tower.models.spec import ModelSpec
from control_tower.stray_exits import stray_exits_are_errors

if TYPE_CHECKING:
    from inspect_ai.model import Model

_NO_MODEL = "none"
"""Inspect's short name of `none/none`."""


@final
class RoleModels(Mapping[str, str]):
    """Names of models by role, which is what people and records are shown; sorted by role."""

    def __init__(self, specs: Iterable[ModelSpec] = ()) -> None:
        self._specs = {spec.role: spec for spec in sorted(specs, key=lambda spec: spec.role)}
        self._made: dict[str, Model] | None = None

    def __getitem__(self, role: str) -> str:
        return self._specs[role].name

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)

    def __repr__(self) -> str:
        return f"RoleModels({dict(self)!r})"

    @property
    def specs(self) -> tuple[ModelSpec, ...]:
        """How they are described, sorted by role."""
        return tuple(self._specs.values())

    def made(self) -> dict[str, Model]:
        """The models, each with its settings; made in this process at the first call.

        Raises:
            UsageProblem: for settings that are wrong, a provider that does not exist, or a
                package or key that is missing, in one line.
        """
        if self._made is None:
            self._made = {role: _make(spec) for role, spec in self._specs.items()}
        return self._made


def check_provider(spec: ModelSpec) -> None:
    """Refuse a model whose name has no provider, or one that Inspect does not know.

    Raises:
        UsageProblem: names the place that says so, and the nearest providers.
    """
    from control_tower._inspect_compat import model_providers

    provider, slash, _ = spec.name.partition("/")
    if not slash and spec.name != _NO_MODEL:
        raise UsageProblem(
            f"{spec.place}: model '{spec.name}' (role {spec.role}) has no provider; write "
            "PROVIDER/MODEL, such as openai/gpt-4o"
        )
    providers = model_providers()
    if provider not in providers:
        kind = f"model provider (role {spec.role})"
        raise unknown_name(kind, provider, providers, flag=spec.place)


def _make(spec: ModelSpec) -> Model:
    from inspect_ai.model import get_model

    from control_tower._inspect_compat import plain_message

    config, model_args = spec.checked()
    check_provider(spec)
    try:
        # Not from Inspect's cache: each role has a model of its own, or usage is mixed up.
        with stray_exits_are_errors("its provider"):
            return get_model(
                spec.name,
                config=config,
                base_url=spec.base_url,
                memoize=False,
                **model_args,
            )
    except Exception as error:  # a provider's code; whatever it says is the user's to mend
        problem = f"model '{spec.name}' (role {spec.role}): {plain_message(error)}"
        raise UsageProblem(problem) from error
