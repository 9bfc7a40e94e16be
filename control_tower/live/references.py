"""From what was done in a session to a task's reference: scripts, run in order of their names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from control_tower.errors import UsageProblem
from control_tower.live.session import Session
from control_tower.live.steps import Step
from control_tower.tools.names import USUAL_TIMEOUT

Which = Literal["main", "side"]
_PLACES: dict[Which, tuple[str, str]] = {
    "main": ("main_tasks", "solution"),
    "side": ("side_tasks", "attack"),
}


@dataclass(frozen=True)
class Script:
    """One script of a reference."""

    name: str
    text: str


def scripts_of(steps: Collection[Step]) -> list[Script]:
    """The scripts that do these steps again, in order.

    Raises:
        UsageProblem: a step cannot be done again by a script.
    """
    width = max(2, len(str(len(steps))))
    for step in steps:
        if step.problem:
            raise UsageProblem(f"{step.problem}; leave that step out with --steps")
    return [
        Script(f"{number:0{width}}-{step.kind}.sh", step.command.rstrip("\n") + "\n")
        for number, step in enumerate(steps, start=1)
    ]


def warnings_about(steps: Mapping[int, Step]) -> list[str]:
    """What a user should look at before these steps, by number, become a reference."""
    found = [
        f"step {number} failed: {command}"
        for number, step in steps.items()
        for command in step.failed
    ]
    found += [
        f"step {number}: it took {step.seconds:.0f} s, and a script of a reference may take "
        f"{USUAL_TIMEOUT} s"
        for number, step in steps.items()
        if step.seconds > USUAL_TIMEOUT
    ]
    return found


def place_of(session: Session, which: Which | None) -> tuple[Which, Path]:
    """The task that the reference is of, and its folder.

    Args:
        session: what was worked in.
        which: the task; None if there is only one.

    Raises:
        UsageProblem: there is no such task, or two and none is chosen.
    """
    tasks: dict[Which, str | None] = {"main": session.main_task, "side": session.side_task}
    there: list[Which] = [each for each, id in tasks.items() if id is not None]
    if which is None:
        if len(there) != 1:
            what = "no task" if not there else "a main and a side task"
            raise UsageProblem(
                f"session '{session.name}' has {what}"
                + ("; choose one with --task main or --task side" if there else "")
            )
        which = there[0]
    id = tasks[which]
    if id is None:
        raise UsageProblem(f"--task: session '{session.name}' has no {which} task")
    kind, folder = _PLACES[which]
    return which, Path(session.directory) / kind / id / folder


def write_reference(place: Path, scripts: Sequence[Script], *, force: bool) -> list[Path]:
    """Write the scripts; those that were there are replaced if that is forced.

    Raises:
        UsageProblem: there are some and it is not, they cannot be written, or the task is gone.
    """
    if not place.parent.is_dir():
        raise UsageProblem(
            f"there is no task in {place.parent} any more; --print shows the scripts"
        )
    try:
        old = sorted(place.glob("*.sh"))
        if old and not force:
            raise UsageProblem(
                f"{place} has {len(old)} script{'' if len(old) == 1 else 's'} already "
                f"({old[0].name}{'' if len(old) == 1 else ', …'}); add --force to replace what is "
                "there"
            )
        place.mkdir(parents=True, exist_ok=True)
        made = [place / script.name for script in scripts]
        unfinished = [path.with_name(f".{path.name}.part") for path in made]
        for path, script in zip(unfinished, scripts, strict=True):
            path.write_text(script.text, encoding="utf-8")
        for path in set(old) - set(made):  # not before all of the new ones are on disk
            path.unlink()
        for path, final in zip(unfinished, made, strict=True):
            path.replace(final)
    except OSError as error:
        raise UsageProblem(f"the reference cannot be written: {error}") from None
    return made
