"""What a git diff touches: whole environments, or single tasks of theirs."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, Field

from control_tower.environments.loading import is_task_folder
from control_tower.errors import UsageProblem

_TASKS = {"main_tasks": "main", "side_tasks": "side"}
_SELECTING = "task_sets"
"""A folder of an environment that says what to run, and not how anything works."""


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
            return f"no environment changed since {self.revision} ({files} outside of them did)"
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
    root = Path(_git(["rev-parse", "--show-toplevel"], flag, "not in a git repository").strip())
    for id in needed:
        if not environments[id].resolve().is_relative_to(root.resolve()):
            raise UsageProblem(
                f"{flag}: environment '{id}' is not in the git repository of the current folder; "
                f"stand in that of {environments[id]}"
            )
    unknown = f"'{revision}' is no revision of this repository"
    checked = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    commit = _git(checked, flag, unknown).strip()
    unrelated = f"'{revision}' has no history in common with the current commit"
    base = _git(["merge-base", commit, "HEAD"], flag, unrelated).strip()
    at_root = ["-C", str(root)]
    diff = _git([*at_root, "diff", "--name-only", "--no-renames", "-z", base], flag, unknown)
    new = [*at_root, "ls-files", "--others", "--exclude-standard", "-z"]
    names = {name for name in (diff + _git(new, flag, unknown)).split("\0") if name}
    return sort_changes(revision, (root / name for name in names), environments)


def sort_changes(revision: str, files: Iterable[Path], environments: Mapping[str, Path]) -> Changes:
    """Sort changed files by what depends on them.

    A file in a task's folder touches that task. One in `task_sets/`, and Python's byte code,
    touches nothing. Any other file of an environment touches all of it, and so does a folder that
    holds it and is a repository of its own, into which git does not look.
    """
    folders = {path.resolve(): id for id, path in environments.items()}
    touched: dict[str, Touched] = {}
    others = 0
    for file in files:
        # The file may be gone, so only its folder is resolved.
        path = file.parent.resolve() / file.name
        if "__pycache__" in path.parts:
            continue
        inside = [id for folder, id in folders.items() if folder == path or path in folder.parents]
        for id in inside:
            touched.setdefault(id, Touched()).whole = True
        home = next((folder for folder in path.parents if folder in folders), None)
        parts = PurePosixPath(path.relative_to(home)).parts if home is not None else (_SELECTING,)
        if home is None or parts[0] == _SELECTING:
            others += not inside
            continue
        environment = touched.setdefault(folders[home], Touched())
        kind = _TASKS.get(parts[0]) if len(parts) > 2 and is_task_folder(parts[1]) else None
        if kind is None:
            environment.whole = True
        else:
            getattr(environment, kind).add(parts[1])
    return Changes(revision=revision, touched=touched, others=others)


def _git(arguments: list[str], flag: str, problem: str) -> str:
    try:
        done = _run_git(arguments)
    except FileNotFoundError:
        raise UsageProblem(f"{flag}: git is not installed") from None
    if done.returncode != 0:
        said = " ".join(done.stderr.split())
        shallow = _run_git(["rev-parse", "--is-shallow-repository"]).stdout.strip() == "true"
        hint = "; the clone is shallow: fetch its history (git fetch --unshallow)"
        raise UsageProblem(
            f"{flag}: {problem}{': ' + said if said else ''}{hint if shallow else ''}"
        )
    return done.stdout


def _run_git(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", *arguments], capture_output=True, text=True, check=False, errors="replace"
    )
