"""OpenAI's SDK, apart from the test environment.

Inspect imports the SDK at the first eval of every process in which it can, which takes a second;
so only the processes that speak to a server get it, by `PYTHONPATH`.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


def openai_sdk() -> Path:
    """A folder with the SDK and what else it needs that is not installed; made at first use.

    It is what the extra `openai` would add to this environment, and lies in the environment's own
    folder, so that it is gone with it.

    Raises:
        RuntimeError: if it cannot be installed; with pip's words.
    """
    place = Path(sys.prefix) / "openai-sdk"
    place.mkdir(exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, wanted = place / "stamp", _wanted()
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
            stamp.unlink(missing_ok=True)
            _install(place / "packages")
            stamp.write_text(wanted, encoding="utf-8")
    return place / "packages"


def _wanted() -> str:
    return f"{_requirements()} inspect_ai {version('inspect_ai')} {sys.version}"


def _requirements() -> list[str]:
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    return list(project["optional-dependencies"]["openai"])


def _install(target: Path) -> None:
    """Install what is missing. With `--target` alone, pip would install what is there again."""
    report = _pip("--dry-run", "--report", "-", *_requirements())
    missing = [
        f"{one['metadata']['name']}=={one['metadata']['version']}"
        for one in json.loads(report)["install"]
    ]
    if missing:
        _pip("--no-deps", "--no-compile", "--upgrade", "--target", str(target), *missing)


def _pip(*args: str) -> str:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", *args]
    done = subprocess.run(
        [*command, "--disable-pip-version-check"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"OpenAI's SDK cannot be installed: {done.stderr.strip()[-2000:]}")
    return done.stdout
