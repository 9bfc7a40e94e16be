"""`--extra-src`: directories of a user's own code, importable while a run lasts."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from types import TracebackType
from typing import Any

from control_tower.errors import UsageProblem, current_folder, is_directory, user_path

_OFTEN_INSTALLED_BY_MISTAKE = ("tests", "conftest")
"""Names that nobody imports from elsewhere, but that some packages install."""


class ExtraSource:
    """Puts directories at the front of the import path, and takes them off again.

    Args:
        directories: absolute paths, the first one first in the import path.
    """

    def __init__(self, directories: Sequence[Path]) -> None:
        self.directories = tuple(directories)
        self._before: frozenset[str] = frozenset()

    @classmethod
    def of(cls, given: Sequence[str], *, flag: str) -> ExtraSource:
        """From paths as a user wrote them; relative ones start at the current folder.

        Raises:
            UsageProblem: for what is no directory, two with one basename, or a module in one that
                would hide one of Python's or an installed one; `flag` is what they were written
                after.
        """
        found: dict[str, tuple[str, Path]] = {}
        for text in given:
            path = user_path(text, flag=flag)
            if not text.strip() or not is_directory(path):
                raise UsageProblem(f"{flag}: '{text}' is no directory")
            path = (current_folder() / path).resolve()
            if path.name in found:
                raise UsageProblem(
                    f"{flag}: '{found[path.name][0]}' and '{text}' have the same basename "
                    f"'{path.name}'; rename one, or leave it out"
                )
            for name in _hiding(path):
                raise UsageProblem(
                    f"{flag}: '{text}' has a module '{name}', which would hide Python's or an "
                    "installed one of that name; rename it"
                )
            found[path.name] = (text, path)
        return cls([path for _, path in found.values()])

    def add(self) -> None:
        """Make the directories importable."""
        self._before = frozenset(sys.modules)
        sys.path[:0] = map(str, self.directories)
        importlib.invalidate_caches()

    def remove(self) -> None:
        """Take them off the import path, and forget the modules imported from them since `add`."""
        for directory in self.directories:
            with suppress(ValueError):
                sys.path.remove(str(directory))
        for name, module in list(sys.modules.items()):
            if name not in self._before and self._holds(name, module):
                del sys.modules[name]
        importlib.invalidate_caches()

    def __enter__(self) -> ExtraSource:
        """As `add`."""
        self.add()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """As `remove`."""
        self.remove()

    def _holds(self, name: str, module: Any) -> bool:
        """Whether a module was found by its name from one of the directories.

        That it is somewhere below one is not enough: a virtual environment may be there as well.
        """
        facts = getattr(module, "__dict__", {})
        places = {Path(place) for place in facts.get("__path__") or ()}
        if facts.get("__file__"):
            file = Path(facts["__file__"])
            places.add(file.with_name(file.name.partition(".")[0]))
        return any(directory.joinpath(*name.split(".")) in places for directory in self.directories)


def _hiding(directory: Path) -> list[str]:
    """Names of modules in the directory that are Python's, or that are installed."""
    modules = {file.stem for file in directory.glob("*.py")}
    modules |= {file.parent.name for file in directory.glob("*/__init__.py")}
    return sorted(name for name in modules if _is_elsewhere(name))


def _is_elsewhere(name: str) -> bool:
    if name in sys.stdlib_module_names:
        return True
    if name in _OFTEN_INSTALLED_BY_MISTAKE:
        return False
    installed = [path for path in sys.path if "site-packages" in Path(path).parts]
    spec = PathFinder.find_spec(name, installed)
    return spec is not None and spec.origin is not None
