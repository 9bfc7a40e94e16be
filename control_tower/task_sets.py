"""Task sets: JSON lines, each of which is a combination of environment, main and side task."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator

from control_tower.environments.discovery import Catalog
from control_tower.environments.model import Environment, MainTask, SideTask
from control_tower.errors import (
    UsageProblem,
    check_regular,
    is_file,
    nearest,
    spoken,
    unknown_name,
    user_path,
)

SUFFIX = ".jsonl"
IN_ENVIRONMENT = "task_sets"
"""The folder of an environment that holds task sets of its own."""

_PACKAGED = Path(__file__).with_name("_task_sets")
_IN_REPOSITORY = Path(__file__).parents[1] / "task_sets"


class Entry(BaseModel):
    """One line of a task set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    env: str
    main_task: str | None = None
    side_task: str | None = None

    @field_validator("main_task", "side_task")
    @classmethod
    def _none_if_empty(cls, value: str | None) -> str | None:
        return value or None

    @model_validator(mode="after")
    def _is_a_combination(self) -> Entry:
        if not self.main_task and not self.side_task:
            raise ValueError("a line needs a main_task, a side_task, or both")
        return self


@dataclass(frozen=True)
class TaskSet:
    """A task set that was read; its names are not checked yet."""

    name: str
    file: Path
    entries: tuple[Entry, ...]
    lines: tuple[int, ...]
    """Of each entry, counted from 1."""

    @cached_property
    def _line_of(self) -> dict[Entry, int]:
        return dict(zip(self.entries, self.lines, strict=True))

    def place(self, entry: Entry) -> str:
        """`file:line` of an entry, for messages."""
        return f"{self.file}:{self._line_of[entry]}"

    def problems(self, catalog: Catalog) -> list[str]:
        """Every line whose names do not exist or do not go together, each in one line of text."""
        found: list[str] = []
        for entry in self.entries:
            try:
                combined(entry, catalog, flag=self.place(entry))
            except UsageProblem as problem:
                found.append(str(problem))
        return found


def combined(
    entry: Entry, catalog: Catalog, *, flag: str
) -> tuple[Environment, MainTask | None, SideTask | None]:
    """The environment and the tasks that an entry names.

    Args:
        entry: what is named.
        catalog: where to look.
        flag: where the names were written, for messages.

    Raises:
        UsageProblem: for a name that does not exist, or a pair that does not go together.
    """
    if entry.env not in catalog.names:  # a name, and no path: it may come from a file of others
        raise unknown_name("environment", entry.env, catalog.names, flag=flag)
    environment = catalog.get(entry.env, flag=flag)
    main = side = None
    if entry.main_task:
        if entry.main_task not in environment.main_tasks:
            kind = f"main task of {environment.id}"
            raise unknown_name(kind, entry.main_task, environment.main_tasks, flag=flag)
        main = environment.main_tasks[entry.main_task]
    if entry.side_task:
        if entry.side_task not in environment.side_tasks:
            kind = f"side task of {environment.id}"
            raise unknown_name(kind, entry.side_task, environment.side_tasks, flag=flag)
        side = environment.side_tasks[entry.side_task]
    if main and side and not side.compatible_with(main.id):
        allowed = ", ".join(side.info.compatible_main_tasks) or "none"
        raise UsageProblem(
            f"{flag}: '{side.id}' does not go with main task '{main.id}'; it goes with: {allowed}"
        )
    return environment, main, side


def read_task_set(file: Path, name: str) -> TaskSet:
    """Read a task set; blank lines are left out.

    Raises:
        UsageProblem: for a file that cannot be read, or the first line that is malformed, has an
            unknown field or is a repetition, with file and line.
    """
    task_set, problems = _read(file, name)
    if problems:
        raise UsageProblem(problems[0])
    return task_set


def problems_of_task_set(file: Path, catalog: Catalog | None) -> list[str]:
    """Everything that is wrong in a task set, each with file and line, in the order of lines.

    Args:
        file: the task set.
        catalog: of what its names have to be in; without one, only the form is looked at.
    """
    task_set, problems = _read(file, file.stem)
    found = [*problems, *(task_set.problems(catalog) if catalog else [])]
    return sorted(found, key=lambda problem: _line_of(problem, file))


def _line_of(problem: str, file: Path) -> int:
    number = problem.removeprefix(f"{file}:").partition(":")[0]
    return int(number) if number.isdecimal() else 0


def _read(file: Path, name: str) -> tuple[TaskSet, list[str]]:
    """What can be read of a task set, and what is wrong in the rest."""
    entries: dict[Entry, int] = {}
    problems: list[str] = []
    try:
        check_regular(file)
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        return TaskSet(name, file, (), ()), [f"{file}: cannot be read: {error}"]
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            entry = _entry(line, f"{file}:{number}")
        except UsageProblem as problem:
            problems.append(str(problem))
            continue
        if entry in entries:
            words = f"the same combination as in line {entries[entry]}"
            problems.append(f"{file}:{number}: {words}")
        else:
            entries[entry] = number
    if not entries and not problems:
        problems.append(f"{file}: the task set is empty")
    return TaskSet(name, file, tuple(entries), tuple(entries.values())), problems


def _entry(line: str, place: str) -> Entry:
    try:
        raw = json.loads(line, object_pairs_hook=_without_repetitions)
    except RecursionError:
        raise UsageProblem(f"{place}: not valid JSON: it is nested too deeply") from None
    except ValueError as error:
        raise UsageProblem(f"{place}: not valid JSON: {error}") from None
    if not isinstance(raw, dict):
        raise UsageProblem(f"{place}: expected an object with env, main_task and side_task")
    try:
        return Entry.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
    field = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        raise unknown_name("field", field, Entry.model_fields, flag=place)
    if first["type"] == "missing":
        raise UsageProblem(f"{place}: the field '{field}' is missing")
    said = first["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    raise UsageProblem(f"{place}: {field + ': ' if field else ''}{said}")


def _without_repetitions(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two equal keys the second would silently count."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a field is there twice")
    return found


def known_task_sets(catalog: Catalog) -> dict[str, Path]:
    """Files by name: the shipped ones, and each environment's own as `environment/name`."""
    found = {file.stem: file for file in sets_in(shipped_directory())}
    for environment, directory in catalog.directories.items():
        with suppress(OSError):  # `ct envs validate` says so
            for file in sets_in(directory / IN_ENVIRONMENT):
                found[f"{environment}/{file.stem}"] = file
    return dict(sorted(found.items()))


@cache
def shipped_directory() -> Path:
    """Where the shipped task sets are: in the package, or beside it in a checkout."""
    return _PACKAGED if _PACKAGED.is_dir() else _IN_REPOSITORY


def find_task_set(name: str, catalog: Catalog, *, flag: str) -> TaskSet:
    """The task set called `name`, or in the file `name`; a name wins over a path.

    An environment's own set is called `environment/name`, or `name` alone if no other has it.

    Raises:
        UsageProblem: if there is none, with the nearest names; or if it is malformed.
    """
    full, file = locate_task_set(name, catalog, flag=flag)
    return read_task_set(file, full)


def locate_task_set(name: str, catalog: Catalog, *, flag: str) -> tuple[str, Path]:
    """The full name and the file of the task set that `find_task_set` would read.

    Raises:
        UsageProblem: if there is none, with the nearest names.
    """
    known = known_task_sets(catalog)
    if name in known:
        return name, known[name]
    owners = [full for full in known if full.partition("/")[2] == name]
    if len(owners) > 1:
        words = f"several environments have a task set '{name}': write {spoken(owners)}"
        raise UsageProblem(f"{flag}: {words}")
    if owners:
        return owners[0], known[owners[0]]
    path = user_path(name, flag=flag)
    if is_file(path):
        return name, path
    close = nearest(name, known)
    hint = f"did you mean {spoken(close)}?" if close else f"valid: {', '.join(known) or 'none'}"
    raise UsageProblem(f"{flag}: no task set is named '{name}', and no file; {hint}")


def sets_in(directory: Path) -> list[Path]:
    """The files of the task sets in a folder, sorted; none if there is no such folder.

    Raises:
        OSError: if the folder cannot be read.
    """
    try:
        return sorted(file for file in directory.iterdir() if file.name.endswith(SUFFIX))
    except (FileNotFoundError, NotADirectoryError):
        return []


def write_task_set(file: Path, entries: Iterable[Entry]) -> None:
    """Write a task set."""
    lines = [entry.model_dump_json(exclude_none=True) + "\n" for entry in entries]
    file.write_text("".join(lines), encoding="utf-8")
