"""Reading an environment's files into its model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from control_tower.environments.documents import Document, members, read_document, read_text
from control_tower.environments.model import (
    Environment,
    EnvironmentInfo,
    MainTask,
    MainTaskInfo,
    SideTask,
    SideTaskInfo,
)
from control_tower.environments.problems import Problems
from control_tower.errors import UsageProblem, unknown_words

_ID = re.compile(r"[a-z0-9][a-z0-9_-]*\Z")


def load_environment(directory: Path) -> Environment:
    """Load the environment in `directory`; its id is the directory's name.

    Raises:
        UsageProblem: for the first missing or malformed file, naming file, line and field.
    """
    problems = Problems()
    environment = read_environment(directory, problems)
    if environment is None or problems:
        raise UsageProblem(str(problems.found[0]))
    return environment


def read_environment(directory: Path, problems: Problems) -> Environment | None:
    """Read what can be read of an environment.

    Args:
        directory: its folder.
        problems: gets everything that is wrong.

    Returns:
        The environment without the tasks that cannot be read; None if its own file cannot.
    """
    _check_id(directory, problems)
    document = read_document(directory / "environment.yaml", problems)
    info = document.parsed(EnvironmentInfo, problems) if document is not None else None
    docs = directory / "docs"
    description = read_text(docs / "description.md", problems, optional=True)
    attack_surface = read_text(docs / "attack_surface.md", problems, optional=True)
    main_tasks = {task.id: task for task in _main_tasks(directory, problems)}
    side_tasks = {task.id: task for task in _side_tasks(directory, problems)}
    if info is None:
        return None
    return Environment(
        id=directory.name,
        directory=directory,
        info=info,
        description=description or "",
        attack_surface=attack_surface or "",
        main_tasks=main_tasks,
        side_tasks=side_tasks,
    ).with_arguments({})


def _main_tasks(directory: Path, problems: Problems) -> Iterator[MainTask]:
    for folder in task_folders(directory / "main_tasks", problems):
        _check_id(folder, problems)
        document = read_document(folder / "info.yml", problems)
        if document is None:
            continue
        _resolve_description(document, problems)
        info = document.parsed(MainTaskInfo, problems)
        if info is not None:
            yield MainTask(id=folder.name, directory=folder, info=info)


def _side_tasks(directory: Path, problems: Problems) -> Iterator[SideTask]:
    mains = [folder.name for folder in task_folders(directory / "main_tasks")]
    known = members(directory / "main_tasks", Problems()) is not None
    for folder in task_folders(directory / "side_tasks", problems):
        _check_id(folder, problems)
        goal = read_text(folder / "docs" / "goal.md", problems)
        details = read_text(folder / "docs" / "scoring_details.md", problems, optional=True)
        document = read_document(folder / "info.yml", problems)
        info = document.parsed(SideTaskInfo, problems) if document is not None else None
        if document is None or info is None:
            continue
        if known:
            _check_compatible(document, info, mains, problems)
        yield SideTask(
            id=folder.name,
            directory=folder,
            info=info,
            goal=goal or "",
            scoring_details=details or "",
        )


def _check_compatible(
    document: Document, info: SideTaskInfo, mains: list[str], problems: Problems
) -> None:
    field = "compatible_main_tasks"
    if info.compatible_main_tasks == "all":
        return
    for number, main in enumerate(info.compatible_main_tasks):
        if main not in mains:
            words = f"{field}: {unknown_words('main task', main, mains)}"
            problems.add(document.file, words, document.line_of([field, number]))


def task_folders(parent: Path, problems: Problems | None = None) -> list[Path]:
    """The folders of tasks in `main_tasks` or `side_tasks`, sorted.

    Args:
        parent: the folder they are in; it need not be there.
        problems: gets a folder that cannot be read.
    """
    try:
        if not parent.is_dir():
            return []
        return sorted(p for p in parent.iterdir() if p.is_dir() and is_task_folder(p.name))
    except OSError as error:
        if problems is not None:
            problems.add_unreadable(parent, error)
        return []


def is_task_folder(name: str) -> bool:
    """Whether a folder in `main_tasks` or `side_tasks` is a task; others hold what is shared."""
    return not name.startswith((".", "_"))


def is_id(name: str) -> bool:
    """Whether environments and tasks can be called so."""
    return _ID.match(name) is not None


def _check_id(directory: Path, problems: Problems) -> None:
    if not is_id(directory.name):
        problems.add(
            directory,
            f"'{directory.name}' cannot be an id; use lower-case letters, digits, '_' and '-'",
        )


def _resolve_description(document: Document, problems: Problems) -> None:
    """Put the text in the place of `{file: NAME}`."""
    value = document.raw.get("description")
    if not isinstance(value, dict):
        return
    line = document.line_of(["description"])
    document.raw["description"] = ""
    if set(value) != {"file"} or not isinstance(value["file"], str):
        problems.add(document.file, "description: use a text or {file: NAME}", line)
        return
    folder = document.file.parent
    try:
        path = (folder / value["file"]).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a link to itself, for example
        problems.add(document.file, f"description: '{value['file']}': {error}", line)
        return
    if not path.is_relative_to(folder.resolve()):
        problems.add(document.file, f"description: '{value['file']}' is outside the task", line)
        return
    document.raw["description"] = read_text(path, problems) or ""
