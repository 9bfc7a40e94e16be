"""The few things of Inspect that have no public name, each with its reason.

`tests/test_inspect_compat.py` fails when one of them moves.
"""

from __future__ import annotations

import json
import re
import threading
from types import SimpleNamespace
from typing import Any, cast

import yaml
from inspect_ai._util.dotenv import init_dotenv  # only an eval reads .env, after our checks
from inspect_ai._util.entrypoints import ensure_entry_points  # plugins register types in them
from inspect_ai._util.error import PrerequisiteError  # no public name: raised by get_model()
from inspect_ai._util.registry import (  # no public list of model providers, or of sandboxes
    registry_find,
    registry_info,
)
from inspect_ai.model import _call_tools  # no public way to say how arguments are read
from inspect_ai.tool import ToolInfo, ToolParams
from inspect_ai.util import JSONSchema, SandboxEnvironment
from inspect_ai.util._display import init_display_type  # eval_async() shows "plain" without it
from inspect_ai.util._sandbox.local import (  # the sandbox whose files are the host's own
    LocalSandboxEnvironment as InspectLocal,
)
from inspect_ai.util._sandbox.registry import registry_find_sandboxenv  # names a type's package

from control_tower.tool_arguments import PlainDecoder, read_json_arguments, read_yaml_argument

__all__ = [
    "InspectLocal",
    "PrerequisiteError",
    "model_providers",
    "plain_message",
    "read_arguments_plainly",
    "read_dotenv",
    "sandbox_package",
    "sandbox_types",
    "silence_display",
]

_PACKAGE = re.compile(r"install the '([^']+)' package")
_PLAIN_YAML = SimpleNamespace(**{**vars(yaml), "safe_load": read_yaml_argument})
_PLAIN_JSON = SimpleNamespace(
    **{**vars(json), "loads": read_json_arguments, "JSONDecoder": PlainDecoder}
)
_READING = threading.Lock()
_MARKUP = re.compile(r"\[/?[a-z#][^\]\n]*\]")


def silence_display() -> None:
    """Let Inspect print nothing of its own for evals of this process."""
    init_display_type("none")


def read_dotenv() -> None:
    """Read the nearest `.env` file, as Inspect does: many keep their keys and model there."""
    init_dotenv()


def read_arguments_plainly() -> None:
    """Let Inspect read the arguments of tool calls as `control_tower.tool_arguments` does.

    Its `parse_tool_call` reads what a model wrote with `yaml.safe_load` and `json.loads`, and one
    call could end an eval so. All providers share that function, some under a name of their own;
    so it is given other modules of the names `yaml` and `json`, once for the process.

    Raises:
        RuntimeError: this version of Inspect reads arguments in another way.
    """
    with _READING:
        vars(_call_tools).update(yaml=_PLAIN_YAML, json=_PLAIN_JSON)
        tagged, long = _read("!!binary /w=="), _read(f'{{"text": 1{"0" * 5000}}}')
    if tagged.arguments != {"text": "!!binary /w=="} or not long.parse_error:
        raise RuntimeError(
            "this version of inspect-ai reads the arguments of tool calls in a way that is not "
            "known here; install the version that Control Tower was released with"
        )


def _read(arguments: str) -> Any:
    schema = ToolParams(properties={"text": JSONSchema(type="string")})
    tool = ToolInfo(name="check", description="", parameters=schema)
    return _call_tools.parse_tool_call("check", "check", arguments, [tool])


def plain_message(error: BaseException) -> str:
    """An Inspect error's message on one line, without Rich markup."""
    message = getattr(error, "message", None)
    text = str(message if message is not None else error) or type(error).__name__
    return " ".join(_MARKUP.sub("", text).split()).removeprefix("ERROR: ")


def model_providers() -> list[str]:
    """Names of the model providers that Inspect knows, such as `openai`; plugins' as well."""
    registry_find(lambda info: False)  # where it finds nothing, it loads the plugins
    found = registry_find(lambda info: info.type == "modelapi")
    return sorted({info.name.rpartition("/")[2] for info in map(registry_info, found)})


def sandbox_types() -> dict[str, list[type[SandboxEnvironment]]]:
    """The providers of sandboxes that are registered with Inspect, by the name users give.

    Providers of several packages may have one name; Inspect takes the first.
    """
    ensure_entry_points()
    found: dict[str, list[type[SandboxEnvironment]]] = {}
    for each in registry_find(lambda info: info.type == "sandboxenv"):
        name = registry_info(each).name.rpartition("/")[2]
        found.setdefault(name, []).append(cast(type[SandboxEnvironment], each))
    return found


def sandbox_package(name: str) -> str | None:
    """The package that Inspect names for a sandbox that is not installed, if it knows one."""
    try:
        registry_find_sandboxenv(name)
    except ValueError as error:
        found = _PACKAGE.search(str(error))
        return found[1] if found else None
    return None
