"""Finding environments: bundled, in `CT_ENVIRONMENTS_PATH`, from plugins, and by their path."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from control_tower.environments.loading import load_environment
from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem, is_directory, is_file, unknown_name, user_path

PATH_VARIABLE = "CT_ENVIRONMENTS_PATH"
ENTRY_POINT_GROUP = "control_tower.environments"
"""Entry points whose value is a package, in whose folder environments are."""
LIBRARY = Path(__file__).parent / "library"
ENVIRONMENT_FILE = "environment.yaml"
"""The file that makes a directory an environment."""


class Catalog:
    """The environments that can be named, by id; each is loaded when first asked for."""

    def __init__(self, directories: Mapping[str, Path]) -> None:
        self._directories = dict(directories)
        self._loaded: dict[str, Environment] = {}

    @classmethod
    def discover(cls) -> Catalog:
        """Look in the library, in each directory of `CT_ENVIRONMENTS_PATH`, and in plugins.

        Raises:
            UsageProblem: if two places hold an environment of one name, or a place is missing.
        """
        catalog = cls({})
        for directory in _candidates():
            catalog._add(directory)
        return catalog

    @property
    def names(self) -> list[str]:
        """Ids, sorted."""
        return sorted(self._directories)

    @property
    def directories(self) -> dict[str, Path]:
        """Folders by id, sorted."""
        return {name: self._directories[name] for name in self.names}

    def get(self, name: str, *, flag: str) -> Environment:
        """The environment called `name`, or the one in the folder `name`, if that has a `/`.

        Args:
            name: an id or a path.
            flag: what the user wrote it after.

        Raises:
            UsageProblem: if there is none, its files are malformed, or its name is another's.
        """
        id = self.id_of(name, flag=flag)
        if id not in self._loaded:
            self._loaded[id] = load_environment(self._directories[id])
        return self._loaded[id]

    def id_of(self, name: str, *, flag: str) -> str:
        """The id of the environment called `name` or in the folder `name`, without loading it.

        Raises:
            UsageProblem: as `get`, but for malformed files.
        """
        if "/" in name:
            return self._add(_folder(name, flag=flag), flag=flag)
        if name in self._directories:
            return name
        for path in (f"./{name}", f"environments/{name}"):
            if is_directory(Path(path)) and is_file(Path(path) / ENVIRONMENT_FILE):
                raise UsageProblem(
                    f"{flag}: no environment is named '{name}'; for the folder, write '{path}'"
                )
        raise unknown_name("environment", name, self._directories, flag=flag)

    def _add(self, directory: Path, flag: str | None = None) -> str:
        directory = _normal(directory)
        other = self._directories.setdefault(directory.name, directory)
        if other.resolve() != directory.resolve():
            where = f"{flag}: " if flag else ""
            raise UsageProblem(
                f"{where}two environments are named '{directory.name}': {other} and {directory}"
            )
        return directory.name


def _folder(name: str, *, flag: str) -> Path:
    path = user_path(name, flag=flag)
    if not is_directory(path):
        raise UsageProblem(f"{flag}: '{name}' is not a directory")
    try:
        found = (path / ENVIRONMENT_FILE).is_file()
    except OSError as error:
        raise UsageProblem(f"{flag}: '{name}' cannot be read: {error.strerror}") from None
    if not found:
        raise UsageProblem(f"{flag}: '{name}' is no environment: it has no {ENVIRONMENT_FILE}")
    return path.absolute()


def _normal(directory: Path) -> Path:
    """The path without `..`; a link keeps its own name, which is the environment's."""
    if directory.name in ("", ".."):
        return directory.resolve()
    return directory.parent.resolve() / directory.name


def _candidates() -> Iterator[Path]:
    for place in (LIBRARY, *_extra_places(), *_plugin_places()):
        try:
            directories = sorted(place.iterdir())
        except OSError as error:
            raise UsageProblem(
                f"environments are looked for in {place}, which cannot be read: {error}"
            ) from None
        for directory in directories:
            try:
                found = (directory / ENVIRONMENT_FILE).is_file()
            except OSError:  # a folder that one may not enter holds no environment for us
                continue
            if found:
                yield directory


def _extra_places() -> Iterator[Path]:
    for text in os.environ.get(PATH_VARIABLE, "").split(os.pathsep):
        if not text:
            continue
        place = user_path(text, flag=PATH_VARIABLE)
        if not is_directory(place):
            raise UsageProblem(f"{PATH_VARIABLE}: '{text}' is not a directory")
        if is_file(place / ENVIRONMENT_FILE):
            raise UsageProblem(
                f"{PATH_VARIABLE}: '{text}' is an environment itself; name the directory it is in"
            )
        yield place


def _plugin_places() -> Iterator[Path]:
    """The folders of packages that plugins name; only packages around them are imported."""
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            spec = find_spec(point.value)
        except Exception:  # whatever a package around it raises; what follows names the plugin
            spec = None
        folders = spec.submodule_search_locations if spec is not None else None
        if not folders:
            distribution = f" of {point.dist.name}" if point.dist else ""
            raise UsageProblem(
                f"entry point '{point.name}'{distribution}: '{point.value}' is no package with "
                "environments in it; mend or uninstall the plugin"
            )
        yield from (Path(folder) for folder in folders)
