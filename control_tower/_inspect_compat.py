"""The few things of Inspect that have no public name, each with its reason.

`tests/test_inspect_compat.py` fails when one of them moves.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from inspect_ai._util.dotenv import init_dotenv  # only an eval reads .env, after our checks
from inspect_ai._util.error import PrerequisiteError  # no public name: raised by get_model()
from inspect_ai._util.registry import (  # no public list of model providers
    registry_find,
    registry_info,
)
from inspect_ai.util._display import init_display_type  # eval_async() shows "plain" without it
from inspect_ai.util._sandbox.docker.docker import (  # ours is on top of it, for now
    DockerSandboxEnvironment as InspectDocker,
)

__all__ = [
    "InspectDocker",
    "PrerequisiteError",
    "model_providers",
    "parts_of",
    "plain_message",
    "read_dotenv",
    "silence_display",
]

_MARKUP = re.compile(r"\[/?[a-z#][^\]\n]*\]")


class DockerParts(NamedTuple):
    """What an environment of Inspect's Docker provider is made from; it has no public names."""

    project: Any
    working_dir: str


def parts_of(environment: InspectDocker) -> DockerParts:
    """The parts from which another environment for the same container can be made."""
    return DockerParts(environment._project, environment._working_dir)


def silence_display() -> None:
    """Let Inspect print nothing of its own for evals of this process."""
    init_display_type("none")


def read_dotenv() -> None:
    """Read the nearest `.env` file, as Inspect does: many keep their keys and model there."""
    init_dotenv()


def plain_message(error: BaseException) -> str:
    """An Inspect error's message on one line, without Rich markup."""
    message = getattr(error, "message", None)
    text = str(message if message is not None else error) or type(error).__name__
    return " ".join(_MARKUP.sub("", text).split()).removeprefix("ERROR: ")


def model_providers() -> list[str]:
    """Names of the model providers that Inspect knows, such as `openai`."""
    found = registry_find(lambda info: info.type == "modelapi")
    return sorted({info.name.rpartition("/")[2] for info in map(registry_info, found)})
