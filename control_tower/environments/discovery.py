"""Finding environments: the bundled ones and those in `CT_ENVIRONMENTS_PATH`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from control_tower.environments.loading import load_environment
from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem, unknown_name

PATH_VARIABLE = "CT_ENVIRONMENTS_PATH"
LIBRARY = Path(__file__).parent / "library"
_ENVIRONMENT_FILE = "environment.yaml"
"""The file that makes a directory an environment."""


class Catalog:
    """The environments that can be named, by id; each is loaded when first asked for."""

    def __init__(self, directories: Mapping[str, Path]) -> None:
        self._directories = dict(directories)
        self._loaded: dict[str, Environment] = {}

    @classmethod
    def discover(cls) -> Catalog:
        """Look in the bundled library, then in each directory of `CT_ENVIRONMENTS_PATH`.

        Raises:
            UsageProblem: if two places hold an environment of one name, or a place is missing.
        """
        found: dict[str, Path] = {}
        for directory in _candidates():
            other = found.setdefault(directory.name, directory)
            if other != directory:
                raise UsageProblem(
                    f"two environments are named '{directory.name}': {other} and {directory}"
                )
        return cls(found)

    @property
    def names(self) -> list[str]:
        """Ids, sorted."""
        return sorted(self._directories)

    def get(self, name: str, *, flag: str) -> Environment:
        """The environment called `name`; `flag` is what the user wrote it after.

        Raises:
            UsageProblem: if there is none, or its files are malformed.
        """
        if name not in self._directories:
            raise unknown_name("environment", name, self._directories, flag=flag)
        if name not in self._loaded:
            self._loaded[name] = load_environment(self._directories[name])
        return self._loaded[name]


def _candidates() -> Iterator[Path]:
    for place in (LIBRARY, *_extra_places()):
        for directory in sorted(place.iterdir()):
            try:
                found = (directory / _ENVIRONMENT_FILE).is_file()
            except OSError:  # a folder that one may not enter holds no environment for us
                continue
            if found:
                yield directory.resolve()


def _extra_places() -> Iterator[Path]:
    for text in os.environ.get(PATH_VARIABLE, "").split(os.pathsep):
        if not text:
            continue
        place = Path(text).expanduser()
        if not place.is_dir():
            raise UsageProblem(f"{PATH_VARIABLE}: '{text}' is not a directory")
        if (place / _ENVIRONMENT_FILE).is_file():
            raise UsageProblem(
                f"{PATH_VARIABLE}: '{text}' is an environment itself; name the directory it is in"
            )
        yield place
