"""Which model plays which role, where that is said, and the models themselves.

A component names the roles it needs a model for: `untrusted`, `trusted`, `monitor` and any
other. The model of a role is looked up in these places; the first that names one wins.

1. `--model-role role=model` (pytest: `--ct-model-role`)
2. the component's own argument, such as `-up model=openai/gpt-4o`
3. the environment variable `CT_MODEL_<ROLE>`: capitals, and `_` for `-`
4. the table `[tool.control-tower.models]` of the nearest `pyproject.toml`, from the current
   folder upwards: `monitor = "openai/gpt-4o-mini"`, or an inline table
5. Inspect's variable `INSPECT_EVAL_MODEL`, for the role `untrusted` only, so that a trusted
   model is never silently the untrusted one

A model is a name, or Inspect's whole spec as a YAML mapping:
`{model: openai/gpt-4o-mini, temperature: 0, base_url: "http://localhost:8000/v1"}`. Its keys are
`model`, `base_url` and the generation settings of Inspect's `GenerateConfig`; others are arguments
of the provider, which may be put into a mapping `model_args` as well. It holds no key or password,
which would lie open in command lines and, in headers for example, in logs: keys are read from the
provider's own environment variables.

Of Inspect's environment variables, these take effect in a run, from the environment or from the
nearest `.env` file, which is read when a role needs a model:

- `INSPECT_EVAL_MODEL`: see above.
- A provider's own, such as `OPENAI_API_KEY` and `OPENAI_BASE_URL`.
- `INSPECT_EVAL_MODEL_BASE_URL`: the base URL of the models of every role whose spec has none, if
  the provider's own variable does not say it. Providers read it themselves.
- `INSPECT_DISABLE_MODEL_API`, `INSPECT_EVAL_LOG_MODEL_API`, `INSPECT_CACHE_DIR`,
  `INSPECT_REQUIRED_HOOKS` and `INSPECT_HTTP_…`, as in every eval.

Not read, since they belong to Inspect's own command line: `INSPECT_EVAL_MODEL_ARGS` and
`INSPECT_EVAL_MODEL_ROLE` (give a whole spec), `INSPECT_EVAL_MAX_CONNECTIONS` (give
`--max-connections`) and all others that set an option of `inspect eval`, such as
`INSPECT_EVAL_TEMPERATURE`, `INSPECT_EVAL_EPOCHS`, `INSPECT_EVAL_LIMIT`, `INSPECT_EVAL_SANDBOX` and
`INSPECT_LOG_DIR`. Nor is `INSPECT_EVAL_LOG_FILE_PATTERN`: a run finds its logs by their names.
"""

from control_tower.models.places import INSPECT_VARIABLE, role_variable
from control_tower.models.resolving import (
    Chosen,
    RoleChoice,
    binds_models,
    check_roles,
    choose_models,
    resolve_models,
)
from control_tower.models.role_models import RoleModels, check_provider
from control_tower.models.spec import ModelSpec

__all__ = [
    "INSPECT_VARIABLE",
    "Chosen",
    "ModelSpec",
    "RoleChoice",
    "RoleModels",
    "binds_models",
    "check_provider",
    "check_roles",
    "choose_models",
    "resolve_models",
    "role_variable",
]
