"""What is not imported on the ways that must be quick, each in a fresh interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys

PROGRAM = """
import contextlib, io, json, sys
from control_tower.cli.main import main
told = []
for argv in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(argv)
    told.append((code, said.getvalue()))
print(json.dumps([told, sorted(sys.modules)]))
"""
HEAVY = {"inspect_ai", "docker", "pytest", "_pytest", "anthropic", "openai"}
TYPOS = [
    "-e legder --all",
    "-e ledger -t hold_runding",
    "-e ledger -s silence_adit",
    "-e ledger --all --untrusted-policy refrence",
    "-e ledger --all -up modle=x",
    "-e ledger --all --protocol nul-blue-team",
    "-e ledger --all --sandbox dokcer",
    "-e ledger --all --model-role untrused=a/b",
]


def run(*commands: list[str]) -> tuple[list[tuple[int, str]], set[str]]:
    """Exit code and words of each `ct` command, and the packages loaded after the last."""
    environ = {k: v for k, v in os.environ.items() if k != "CT_ENVIRONMENTS_PATH"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)],
        capture_output=True,
        text=True,
        check=True,
        env={**environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    told, modules = json.loads(done.stdout)
    return told, {name.partition(".")[0] for name in modules}


def test_help_imports_next_to_nothing() -> None:
    [(code, said)], loaded = run(["--help"])
    assert (code, "Commands:" in said) == (0, True)
    assert loaded & {*HEAVY, "pydantic", "yaml", "rich", "anyio", "asyncio"} == set()


def test_the_run_command_s_help_imports_no_model_of_the_options() -> None:
    [(code, said)], loaded = run(["run", "eval2", "--help"])
    assert (code, "--untrusted-policy" in said) == (0, True)
    assert loaded & {*HEAVY, "pydantic", "yaml"} == set()


def test_a_typo_is_told_before_anything_heavy_is_imported() -> None:
    told, loaded = run(*(["run", "eval2", *typo.split()] for typo in TYPOS))
    for typo, (code, said) in zip(TYPOS, told, strict=True):
        assert code == 4, typo
        assert "did you mean" in said, typo
    assert loaded & HEAVY == set()
