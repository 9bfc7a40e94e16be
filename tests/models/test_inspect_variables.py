"""Which of Inspect's environment variables a model listens to, with a real provider."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from support.openai_sdk import openai_sdk

PROGRAM = """
import json, os, sys
from control_tower.errors import UsageProblem
from control_tower.models import ModelSpec, RoleModels
told = []
for variables, text in json.loads(sys.argv[1]):
    os.environ.update(variables)
    try:
        spec = ModelSpec.from_text("trusted", text, "--model-role")
        model = RoleModels([spec]).made()["trusted"]
        told.append([str(model), model.api.base_url, model.api.api_key, model.model_args])
    except UsageProblem as problem:
        told.append(str(problem))
    for name in variables:
        del os.environ[name]
print(json.dumps(told))
"""
NAME = "openai-api/lab/small"
KEY = {"LAB_API_KEY": "s3cret"}
EVERYWHERE = {"INSPECT_EVAL_MODEL_BASE_URL": "http://everywhere/v1"}
OWN = {"LAB_BASE_URL": "http://own/v1"}
SPEC = f"{{model: {NAME}, base_url: 'http://spec/v1'}}"
UNREAD = {
    "INSPECT_EVAL_MODEL": "openai-api/lab/other",
    "INSPECT_EVAL_MODEL_ARGS": "stream=true",
    "INSPECT_EVAL_MODEL_ROLE": "trusted=openai-api/lab/other",
}


def told(*cases: tuple[dict[str, str], str]) -> list[object]:
    """What each model came to, in one process that has OpenAI's SDK."""
    cleared = ("OPENAI", "LAB_", "INSPECT_EVAL", "CT_MODEL")
    environ = {k: v for k, v in os.environ.items() if not k.startswith(cleared)}
    path = os.pathsep.join([str(openai_sdk()), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(cases)],
        capture_output=True,
        text=True,
        check=True,
        env={**environ, "PYTHONPATH": path},
    )
    found: list[object] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_keys_and_base_urls_are_the_provider_s_and_model_args_are_not_read() -> None:
    [everywhere, own, spec, unread, no_key, no_url] = told(
        ({**KEY, **EVERYWHERE}, NAME),
        ({**KEY, **EVERYWHERE, **OWN}, NAME),
        ({**KEY, **EVERYWHERE, **OWN}, SPEC),
        ({**KEY, **OWN, **UNREAD}, NAME),
        (OWN, NAME),
        (KEY, NAME),
    )
    assert everywhere == [NAME, "http://everywhere/v1", "s3cret", {}]
    assert own == [NAME, "http://own/v1", "s3cret", {}]
    assert spec == [NAME, "http://spec/v1", "s3cret", {}]
    assert unread == own
    assert str(no_key).startswith(f"model '{NAME}' (role trusted): ")
    assert "LAB_API_KEY" in str(no_key)
    assert "LAB_BASE_URL" in str(no_url)
