"""A model as a user describes it: a name, or a name with settings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from control_tower.errors import UsageProblem
from control_tower.models.reading import name_or_mapping
from control_tower.models.secrets import refuse_secrets

if TYPE_CHECKING:
    from inspect_ai.model import GenerateConfig

_OWN_KEYS = ("model", "base_url", "model_args")
_PARAMETERS = frozenset(
    {"model", "model_name", "role", "required", "default", "config", "base_url", "memoize"}
)
"""What Inspect itself takes or gives to a provider: no model args."""
_HIDDEN_VALUES = ("extra_headers", "extra_body")
"""Settings whose values are for the provider alone, and are not shown."""
_MISSPELT = 0.8
"""How alike (0 to 1, see `difflib`) a key is to a setting that it is taken for."""
_LEAST = {"max_tokens": 1, "max_connections": 1, "max_retries": 0, "timeout": 1, "temperature": 0}
"""Of the settings that have one."""


@dataclass(frozen=True)
class ModelSpec:
    """The model of a role, as it was given in one place."""

    role: str
    name: str
    """As Inspect writes it, such as `openai/gpt-4o`."""
    place: str
    """Where it was given, for messages: a flag, a variable, a file, an argument."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Generation settings and arguments of the provider, as they were written."""
    base_url: str | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the provider that were set apart."""

    @classmethod
    def from_text(cls, role: str, text: str, place: str) -> ModelSpec:
        """From a name or a YAML mapping.

        Raises:
            UsageProblem: for what is neither, or a mapping with something wrong in it.
        """
        return cls.from_value(role, name_or_mapping(text, _where(place, role)), place)

    @classmethod
    def from_value(cls, role: str, value: str | Mapping[str, Any], place: str) -> ModelSpec:
        """From a name or a mapping; generation settings are not looked at yet.

        Dates, which a project file may have, are texts, as they are in YAML.

        Raises:
            UsageProblem: for a mapping with something wrong in it.
        """
        if isinstance(value, str):
            return cls(role=role, name=value, place=place)
        from pydantic_core import to_jsonable_python

        where = _where(place, role)
        spec: dict[str, Any] = to_jsonable_python(dict(value), inf_nan_mode="constants")
        refuse_secrets(spec, where)
        name, base_url = spec.get("model"), spec.get("base_url")
        if "model" not in spec:
            raise UsageProblem(
                f"{where}: its mapping has no 'model' (it has {', '.join(spec) or 'nothing'})"
            )
        if not isinstance(name, str) or not name:
            raise UsageProblem(f"{where}: model: expected the name of a model (given {name!r})")
        if base_url is not None and not isinstance(base_url, str):
            raise UsageProblem(f"{where}: base_url: expected a text (given {base_url!r})")
        return cls(
            role=role,
            name=name,
            place=place,
            settings={key: each for key, each in spec.items() if key not in _OWN_KEYS},
            base_url=base_url,
            model_args=_model_args(spec.get("model_args"), where),
        )

    def checked(self) -> tuple[GenerateConfig, dict[str, Any]]:
        """The generation settings, and the arguments of the provider; imports Inspect.

        Raises:
            UsageProblem: for a misspelt key or a bad value.
        """
        from inspect_ai.model import GenerateConfig

        known = GenerateConfig.model_fields
        own = {key: value for key, value in self.settings.items() if key in known}
        others = {key: value for key, value in self.settings.items() if key not in known}
        for key in others:
            self._refuse_misspelt(key, [*_OWN_KEYS, *known])
            if key in self.model_args:
                raise UsageProblem(f"{self._where}: '{key}' is given twice, in model_args as well")
        for key in (*others, *self.model_args):
            if key in _PARAMETERS:
                raise UsageProblem(f"{self._where}: '{key}' is no argument of a provider")
        return self._config(own), {**others, **self.model_args}

    def described(self) -> str:
        """The name with its settings, on one line."""
        extras: dict[str, Any] = dict(self.settings)
        if self.base_url is not None:
            extras["base_url"] = self.base_url
        if self.model_args:
            extras["model_args"] = dict(self.model_args)
        if not extras:
            return self.name
        return f"{self.name} ({', '.join(_shown(key, each) for key, each in extras.items())})"

    def _refuse_misspelt(self, key: str, known: Sequence[str]) -> None:
        close = get_close_matches(key, known, n=1, cutoff=_MISSPELT)
        if close:
            meant = f"no setting of a model is named '{key}'; did you mean '{close[0]}'?"
            way_out = "an argument of the provider that is called so goes into model_args"
            raise UsageProblem(f"{self._where}: {meant} ({way_out})")

    def _config(self, settings: Mapping[str, Any]) -> GenerateConfig:
        from inspect_ai.model import GenerateConfig
        from pydantic import ValidationError

        self._refuse_out_of_range(settings)
        try:
            return GenerateConfig(**settings)
        except ValidationError as error:
            first = error.errors()[0]
            key = str(first["loc"][0]) if first["loc"] else "settings"
            value = settings.get(key)
            shown = isinstance(value, str | int | float) and key not in _HIDDEN_VALUES
            given = f" (given {value!r})" if shown else ""
            raise UsageProblem(f"{self._where}: {key}: {first['msg']}{given}") from None

    def _refuse_out_of_range(self, settings: Mapping[str, Any]) -> None:
        """What Inspect takes, and a provider would refuse at the first request."""
        from inspect_ai.model import GenerateConfig

        for key, value in settings.items():
            if GenerateConfig.model_fields[key].annotation not in (int | None, float | None):
                continue
            least = _LEAST.get(key, -math.inf)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if isinstance(value, bool) or (number and not least <= value < math.inf):
                wanted = "a number" if least == -math.inf else f"a number of {least:g} or more"
                raise UsageProblem(f"{self._where}: {key}: expected {wanted} (given {value!r})")

    @property
    def _where(self) -> str:
        return _where(self.place, self.role)


def _where(place: str, role: str) -> str:
    return f"{place}: role '{role}'"


def _model_args(value: Any, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise UsageProblem(f"{where}: model_args: expected a mapping (given {value!r})")
    return value


def _shown(key: str, value: Any) -> str:
    if key in _HIDDEN_VALUES and isinstance(value, Mapping):
        return f"{key}: {', '.join(map(str, value))}"
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return f"{key}: {text}"
