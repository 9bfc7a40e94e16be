"""What a git diff touches: whole environments, or single tasks of theirs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from control_tower.environments.discovery import ENVIRONMENT_FILE
from control_tower.environments.loading import is_id
from control_tower.errors import UsageProblem, is_file

_TASKS = {"main_tasks": "main", "side_tasks": "side"}
_SELECTING = "task_sets"
"""A folder of an environment that says what to run, and not how anything works."""
_LINK = "120000 "
"""What `git ls-files --stage` begins a symbolic link's line with: its mode."""


class Touched(BaseModel):
    """What changed of one environment."""

    whole: bool = False
    """Whether something changed that all of its tasks depend on."""
    main: set[str] = Field(default_factory=set)
    side: set[str] = Field(default_factory=set)


class Changes(BaseModel):
    """What changed since a revision, by environment; a run's processes hand it on."""

    model_config = ConfigDict(frozen=True)

    version: int = 1
    revision: str
    touched: dict[str, Touched]
    others: int
    """How many changed files belong to no environment."""
    strangers: tuple[str, ...] = ()
    """Folders with changed files that look like environments and are none of those found, as paths
    from the current folder."""

    @property
    def environments(self) -> list[str]:
        """Ids of those that something changed of, sorted."""
        return sorted(self.touched)

    def touch(self, environment: str, main: str | None, side: str | None) -> bool:
        """Whether the combination depends on something that changed."""
        touched = self.touched.get(environment)
        if touched is None:
            return False
        return touched.whole or main in touched.main or side in touched.side

    def nothing(self) -> str:
        """Why nothing that was selected is to be run, for people."""
        files = "1 file" if self.others == 1 else f"{self.others} files"
        if not self.touched and not self.others:
            return f"no file changed since {self.revision}"
        if not self.touched:
            strange = ", ".join(self.strangers)
            looked = f"; not looked at, since not found: {strange}; see CT_ENVIRONMENTS_PATH"
            outside = f"{files} outside of them did{looked if strange else ''}"
            return f"no environment changed since {self.revision} ({outside})"
        return f"what changed since {self.revision} is not selected"


def changes_since(
    revision: str, environments: Mapping[str, Path], *, flag: str, needed: Collection[str] = ()
) -> Changes:
    """What changed since the current branch left `revision`, uncommitted and new files included.

    The repository is the one that the current folder is in; of environments elsewhere nothing is
    known, and nothing is said to have changed.

    Args:
        revision: anything that git understands.
        environments: their folders, by id.
        flag: what the user wrote the revision after.
        needed: ids of environments that the user named, which must be in the repository.

    Raises:
        UsageProblem: no git, no repository, no such revision, or a needed environment elsewhere.
    """
    root = Path(_git(["rev-parse", "--show-toplevel"], flag, "not in a git repository"))
    for id in needed:
        if not environments[id].resolve().is_relative_to(root.resolve()):
            raise UsageProblem(
                f"{flag}: environment '{id}' is not in the git repository of the current folder; "
                f"stand in that of {environments[id]}"
            )
    unrelated = f"'{revision}' has no history in common with the current commit"
    base = _git(["merge-base", _commit(revision, flag), "HEAD"], flag, unrelated)
    at_root = ["-C", str(root)]
    diff = [*at_root, "diff", "--name-only", "--no-renames", "--ignore-submodules=none", "-z", base]
    new = [*at_root, "ls-files", "--others", "--exclude-standard", "-z"]
    unlisted = "the changes cannot be listed"
    changed = {root / name for names in (diff, new) for name in _names(names, flag, unlisted)}
    tracked = _names([*at_root, "ls-files", "--stage", "-z"], flag, unlisted)
    links = (root / name.partition("\t")[2] for name in tracked if name.startswith(_LINK))
    return sort_changes(revision, changed, environments, links)


def sort_changes(
    revision: str,
    files: Iterable[Path],
    environments: Mapping[str, Path],
    links: Iterable[Path] = (),
) -> Changes:
    """Sort changed files by what depends on them.

    A file in a task's folder touches that task. One in `task_sets/`, and Python's byte code,
    touches nothing. Any other file of an environment touches all of it, and so does a folder that
    holds it and is a repository of its own, into which git does not look. What a link of an
    environment leads to counts as if it were in the link's place.

    Args:
        revision: since when they changed.
        files: the changed ones.
        environments: their folders, by id; two may be one folder.
        links: symbolic links, in environments or not.
    """
    homes = _homes(environments)
    aliases = _aliases(links, homes)
    touched: dict[str, Touched] = {}
    strangers: set[str] = set()
    others = 0
    for file in files:
        # The file may be gone, so only its folder is resolved.
        path = file.parent.resolve() / file.name
        if "__pycache__" in path.parts:
            continue
        depending = set(_depending(path, homes)) | set(_places(path, aliases))
        for id, parts in depending:
            _touch(touched.setdefault(id, Touched()), parts)
        if not depending:
            others += 1
            unknown = (folder for folder in path.parents if folder not in homes)
            strangers.update(
                os.path.relpath(each) for each in unknown if is_file(each / ENVIRONMENT_FILE)
            )
    return Changes(
        revision=revision, touched=touched, others=others, strangers=tuple(sorted(strangers))
    )


_Place = tuple[str, tuple[str, ...]]
"""An environment's id, and the parts of a path in its folder."""


def _homes(environments: Mapping[str, Path]) -> dict[Path, list[str]]:
    """Ids by folder: where it is said to be, and wherever that leads to."""
    homes: dict[Path, list[str]] = {}
    for id, directory in environments.items():
        for folder in {directory, *_targets(directory)}:
            homes.setdefault(folder, []).append(id)
    return homes


def _aliases(links: Iterable[Path], homes: Mapping[Path, list[str]]) -> dict[Path, list[_Place]]:
    """What links in environments lead to, and in whose place that is."""
    aliases: dict[Path, list[_Place]] = {}
    for link in links:
        places = [(id, parts) for id, parts in _inside(link, homes) if parts]
        for target in _targets(link) if places else ():
            aliases.setdefault(target, []).extend(places)
    return aliases


def _targets(path: Path) -> set[Path]:
    """The path with links resolved and, if it is a link itself, each step on the way there."""
    found = {Path(os.path.realpath(path))}
    while os.path.islink(path):  # no error for what a link says and no path can be
        step = os.path.join(os.path.realpath(path.parent), os.readlink(path))
        path = Path(os.path.normpath(step))
        if path in found:
            break
        found.add(path)
    return found


def _inside(path: Path, homes: Mapping[Path, list[str]]) -> Iterator[_Place]:
    """The path's places in the innermost environment that it is in."""
    home = next((folder for folder in path.parents if folder in homes), None)
    if home is not None:
        yield from ((id, path.relative_to(home).parts) for id in homes[home])


def _depending(path: Path, homes: Mapping[Path, list[str]]) -> Iterator[_Place]:
    """The places of a path in environments that depend on it; no parts: it holds all of one."""
    for folder, ids in homes.items():
        if folder == path or path in folder.parents:
            yield from ((id, ()) for id in ids)
    yield from (place for place in _inside(path, homes) if place[1][0] != _SELECTING)


def _places(path: Path, aliases: Mapping[Path, list[_Place]]) -> Iterator[_Place]:
    """The places in environments that a path is linked to."""
    above = (target for target in (path, *path.parents) if target in aliases)
    found = [(target, path.relative_to(target).parts) for target in above]
    if path.is_symlink() or not path.is_file():  # it may hold, or have held, what is linked to
        found += [(target, ()) for target in aliases if path in target.parents]
    for target, below in found:
        for id, parts in aliases[target]:
            if parts[0] != _SELECTING:
                yield id, parts + below


def _touch(environment: Touched, parts: Sequence[str]) -> None:
    """Mark what depends on the file at these parts of its path in the environment."""
    kind = _TASKS.get(parts[0]) if len(parts) > 2 and is_id(parts[1]) else None
    if kind is None:
        environment.whole = True
    else:
        getattr(environment, kind).add(parts[1])


def _commit(revision: str, flag: str) -> str:
    """The hash of the commit that the revision means."""
    unknown = f"'{revision}' is no revision of this repository"
    checked = ["rev-parse", "--verify", "--quiet", "--end-of-options"]
    # In two steps, since a suffix would belong to the text that `:/text` looks for.
    found = _git([*checked, revision], flag, unknown)
    if found.startswith("^"):
        raise UsageProblem(f"{flag}: '{revision}' excludes a revision; leave out the '^'")
    return _git([*checked, f"{found}^{{commit}}"], flag, unknown)


def _names(arguments: list[str], flag: str, problem: str) -> list[str]:
    return [name for name in _git(arguments, flag, problem).split("\0") if name]


def _git(arguments: list[str], flag: str, problem: str) -> str:
    """What git says, without the end of its last line; bytes that are not UTF-8 are kept."""
    done = _run_git(arguments, flag)
    if done.returncode != 0:
        said = " ".join(done.stderr.decode(errors="replace").split())
        shallow = _run_git(["rev-parse", "--is-shallow-repository"], flag).stdout == b"true\n"
        hint = "; the clone is shallow: fetch its history (git fetch --unshallow)"
        raise UsageProblem(
            f"{flag}: {problem}{': ' + said if said else ''}{hint if shallow else ''}"
        )
    return os.fsdecode(done.stdout.removesuffix(b"\n"))


def _run_git(arguments: list[str], flag: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        raise UsageProblem(f"{flag}: git is not installed") from None
    except (OSError, ValueError) as error:  # it may not be run, or an argument holds a NUL
        raise UsageProblem(f"{flag}: git cannot be run: {error}") from None
