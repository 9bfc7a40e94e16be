"""Everything that can be found wrong with an environment without running it."""

from __future__ import annotations

import shutil
import subprocess
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

from control_tower.environments.documents import members, read_document
from control_tower.environments.loading import read_environment, task_folders
from control_tower.environments.model import Environment
from control_tower.environments.problems import Problem, Problems
from control_tower.errors import UsageProblem, check_regular, is_file, nearest

ScorerTrial = Callable[[Path], object]
"""Imports a task's scorer.py; raises `UsageProblem` if that cannot be done."""

_AGENTS_SERVICE = "default"
_MISSPELT: Mapping[str, tuple[str, ...]] = {
    "environment": (
        "environment.yaml",
        "codebase",
        "docs",
        "main_tasks",
        "side_tasks",
        "task_sets",
    ),
    "main task": ("info.yml", "scorer.py", "setup.sh", "files", "solution"),
    "side task": ("info.yml", "scorer.py", "setup.sh", "files", "attack", "docs"),
    "docs": ("description.md", "attack_surface.md"),
    "side task's docs": ("goal.md", "scoring_details.md"),
}
"""Names that mean something, by the kind of folder that they are in."""


def validate_environment(directory: Path, try_scorer: ScorerTrial) -> list[Problem]:
    """All faults of the environment in `directory`, sorted by file and line.

    What can be looked at is looked at, also where something else is wrong.

    Args:
        directory: its folder; its name is the id.
        try_scorer: imports a scorer.
    """
    problems = Problems()
    environment = read_environment(directory, problems)
    _check_names(directory, problems)
    for script in members(directory / "checks", problems) or ():
        if script.name.endswith(".py"):
            _check_python(script, problems)
    _check_code_base(directory, environment, problems)
    if environment is not None:
        _check_services(environment, problems)
    if _is_missing(directory / "docs" / "description.md"):
        words = "this file is missing: it says what the agent is told of the system"
        problems.add(directory / "docs" / "description.md", words)
    mains = task_folders(directory / "main_tasks")
    sides = task_folders(directory / "side_tasks")
    if not mains and not sides:
        problems.add(directory, "there are no tasks: add a folder in main_tasks/")
    for folder in mains:
        _check_task(folder, "solution", try_scorer, problems)
    for folder in sides:
        _check_task(folder, "attack", try_scorer, problems)
        _check_side_task(folder, problems)
    return sorted(set(problems))


def _check_services(environment: Environment, problems: Problems) -> None:
    for name, service in environment.info.services.items():
        if service.start is None and service.ready is None:
            problems.add(
                environment.directory / "environment.yaml",
                f"services.{name}: it has neither start nor ready, so that nothing is done for it",
            )


def _check_names(directory: Path, problems: Problems) -> None:
    """A misspelt name would be left out in silence."""
    _check_spelling(directory, "environment", problems)
    _check_spelling(directory / "docs", "docs", problems)
    for folder in task_folders(directory / "main_tasks"):
        _check_spelling(folder, "main task", problems)
    for folder in task_folders(directory / "side_tasks"):
        _check_spelling(folder, "side task", problems)
        _check_spelling(folder / "docs", "side task's docs", problems)


def _check_spelling(folder: Path, kind: str, problems: Problems) -> None:
    """Find names that are close to one that is missing, and end as it does."""
    known = _MISSPELT[kind]
    names = {path.name for path in members(folder, problems) or ()}
    missing = [name for name in known if name not in names]
    for name in sorted(names.difference(known)):
        alike = [one for one in missing if Path(one).suffix in ("", Path(name).suffix)]
        close = nearest(name, alike, most=1)
        if close:
            problems.add(folder / name, f"nothing uses this name; did you mean '{close[0]}'?")


def _check_code_base(directory: Path, environment: Environment | None, problems: Problems) -> None:
    source = directory / "codebase" / "src"
    if members(source, problems) == []:
        problems.add(source, "this folder is missing or empty: it becomes the agent's workspace")
    compose = directory / "codebase" / "compose.yml"
    needed = environment is not None and environment.info.portable is False
    if not needed and _is_missing(compose):
        return
    document = read_document(compose, problems)
    if document is None:
        return
    services = document.raw.get("services")
    if "include" in document.raw:
        return  # which only compose itself can read together
    if not isinstance(services, dict) or _AGENTS_SERVICE not in services:
        words = f"there is no service '{_AGENTS_SERVICE}', which is the agent's"
        problems.add(compose, words, document.line_of(["services"]))
        return
    for name, service in services.items():
        build = service.get("build") if isinstance(service, dict) else None
        if build is None:
            continue
        settings = build if isinstance(build, dict) else {"context": build}
        if "dockerfile_inline" in settings or "://" in str(settings.get("context", "")):
            continue
        context = compose.parent / str(settings.get("context", "."))
        dockerfile = context / str(settings.get("dockerfile", "Dockerfile"))
        if "$" not in str(dockerfile) and not is_file(dockerfile):
            words = f"services.{name}.build: {dockerfile} is missing"
            problems.add(compose, words, document.line_of(["services", name, "build"]))


def _is_missing(file: Path) -> bool:
    """Whether there is nothing; of what cannot be looked at, something else is said."""
    try:
        file.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _check_task(folder: Path, reference: str, try_scorer: ScorerTrial, problems: Problems) -> None:
    for script in members(folder, problems) or ():
        if script.name == "scorer.py":
            _check_scorer(script, try_scorer, problems)
        elif script.name == "setup.sh":
            _check_shell(script, "sh", problems)
        elif script.name.endswith(".py"):
            _check_python(script, problems)
    found = members(folder / reference, problems)
    scripts = [script for script in found or () if script.name.endswith(".sh")]
    if found is not None and not scripts:
        problems.add(folder, f"there is no reference: {reference}/ holds no .sh file")
    for script in scripts:
        _check_shell(script, "bash", problems)


def _check_scorer(scorer: Path, try_scorer: ScorerTrial, problems: Problems) -> None:
    try:
        try_scorer(scorer)
    except UsageProblem as problem:
        _add(problems, scorer, str(problem))


def _check_side_task(folder: Path, problems: Problems) -> None:
    if _is_missing(folder / "scorer.py"):
        problems.add(folder / "scorer.py", "this file is missing: a side task needs a scorer")
    goal = folder / "docs" / "goal.md"
    if is_file(goal) and not (_read(goal, problems) or b"x").strip():
        problems.add(goal, "the goal is empty")


def _add(problems: Problems, file: Path, words: str) -> None:
    """Take note of what a `UsageProblem` about a file says."""
    problems.add(file, words.removeprefix(f"{file}: "))


def _check_python(script: Path, problems: Problems) -> None:
    source = _read(script, problems)
    if source is None:
        return
    try:
        with warnings.catch_warnings(action="ignore"):
            compile(source, str(script), "exec", dont_inherit=True)
    except SyntaxError as error:
        problems.add(script, f"not valid Python: {error.msg}", error.lineno or 0)
    except (ValueError, RecursionError, MemoryError) as error:
        problems.add(script, f"not valid Python: {error}")


def _read(script: Path, problems: Problems) -> bytes | None:
    """What a script holds; None, and a problem, if it cannot be read."""
    try:
        check_regular(script)
        return script.read_bytes()
    except OSError as error:
        problems.add_unreadable(script, error)
        return None


def _check_shell(script: Path, shell: str, problems: Problems) -> None:
    """Have the shell read the script without running it."""
    source = _read(script, problems)
    if source is None or shutil.which(shell) is None:
        return
    done = subprocess.run([shell, "-n"], input=source, capture_output=True, check=False)
    if done.returncode == 0:
        return
    said = done.stderr.decode(errors="replace").splitlines()
    first = said[0] if said else "it does not say why"
    # `sh: 3: Syntax error …` of dash, `bash: line 3: syntax error …`
    parts = [part.strip() for part in first.split(":", 2)]
    number = parts[1].removeprefix("line ") if len(parts) == 3 else ""
    line = int(number) if number.isdigit() else 0
    problems.add(script, f"not valid for {shell}: {parts[-1]}", line)
