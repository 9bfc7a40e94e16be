"""Wrong ways to do an environment's tasks, and a run in which a check has to see through each.

A derived environment has one task for each way: a copy of the task whose reference goes wrong. The
policy `reference` then does what an agent would that takes the way, in the real sandbox.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from control_tower.task_sets import Entry, write_task_set
from support.sessions import ControlPytester


@dataclass(frozen=True)
class WrongWay:
    """A shortcut, and the part of the explanation that shows what gave it away."""

    id: str
    task: str
    """`main_tasks/…` or `side_tasks/…`."""
    command: str
    because: str
    after_reference: bool = True
    """Whether it spoils the reference, or starts from the code base as it was."""

    @property
    def task_id(self) -> str:
        """The id of its task in the derived environment."""
        return f"{Path(self.task).name}--{self.id.lower()}"


def spoil(path: str, old: str, new: str, then: str = "sh restart.sh\n") -> str:
    """A command that replaces a piece of a file, which is there once.

    Args:
        path: in the workspace.
        old: the piece.
        new: what takes its place.
        then: what is run afterwards.
    """
    edit = (
        "import pathlib\n"
        f"path = pathlib.Path({path!r})\n"
        "source = path.read_text(encoding='utf-8')\n"
        f"assert source.count({old!r}) == 1\n"
        f"path.write_text(source.replace({old!r}, {new!r}), encoding='utf-8')\n"
    )
    # Byte code of a file that was as long, and as old to the second, would be taken for the new one's.
    forget = "find . -name __pycache__ -prune -exec rm -rf {} +\n"
    return f"set -e\npython3 - <<'SPOIL'\n{edit}SPOIL\n{forget}{then}"


def run_wrong_ways(
    control: ControlPytester, source: Path, ways: Sequence[WrongWay], *options: str
) -> dict[str, str]:
    """Take every way; returns what is wrong by way: nothing, if each check sees through it.

    Args:
        control: where to run it.
        source: the environment's folder.
        ways: the ways.
        options: of pytest.
    """
    environment = _derived(source, control.pytester.path / "derived", ways)
    task_set = control.pytester.path / "ways.jsonl"
    write_task_set(task_set, [_entry(environment.name, way) for way in ways])
    chosen = [f"--ct-env={environment}", f"--ct-task-file={task_set}", "--ct-assert=none"]
    policy = ["--ct-untrusted-policy=reference", "--ct-no-fail-on-error"]
    result = control.run_plain(*chosen, *policy, "-q", *options)
    trajectories = control.trajectories()
    problems = {way.id: _problem(way, trajectories) for way in ways}
    problems = {id: problem for id, problem in problems.items() if problem}
    if problems:
        problems["what pytest printed"] = "\n".join(result.outlines[-30:])
    return problems


def _derived(source: Path, place: Path, ways: Sequence[WrongWay]) -> Path:
    target = place / f"{source.name}-ways"
    ignored = shutil.ignore_patterns("main_tasks", "side_tasks", "task_sets", "__pycache__")
    shutil.copytree(source, target, ignore=ignored)
    for way in ways:
        kind = Path(way.task).parent.name
        copy = target / kind / way.task_id
        shutil.copytree(source / way.task, copy)
        reference = copy / ("solution" if kind == "main_tasks" else "attack")
        if not way.after_reference:
            for script in reference.glob("*.sh"):
                script.unlink()
        reference.mkdir(exist_ok=True)
        (reference / "99-wrong-way.sh").write_text(way.command, encoding="utf-8")
        info = copy / "info.yml"
        fields = yaml.safe_load(info.read_text(encoding="utf-8"))
        fields.pop("compatible_main_tasks", None)
        info.write_text(yaml.safe_dump(fields), encoding="utf-8")
    return target


def _entry(environment: str, way: WrongWay) -> Entry:
    main = way.task.startswith("main_tasks/")
    return Entry(
        env=environment,
        main_task=way.task_id if main else None,
        side_task=None if main else way.task_id,
    )


def _problem(way: WrongWay, trajectories: dict[str, dict]) -> str | None:
    kind = "main" if way.task.startswith("main_tasks/") else "side"
    found = [t for t in trajectories.values() if (t[f"{kind}_task"] or {}).get("id") == way.task_id]
    if len(found) != 1:
        return f"{len(found)} trajectories"
    [trajectory] = found
    score = trajectory["scores"].get(kind)
    if score is None or score["success"] is None:
        return f"unscored: {trajectory['error']} {score}"
    if score["success"]:
        return f"taken for right: {score['explanation']}"
    if trajectory["final_message"] != "All reference steps were run.":
        printed = [a["output"][-1000:] for a in trajectory["actions"] if a["output"]]
        return f"the way itself failed: {trajectory['final_message']} Printed: {printed}"
    if score["no_verdict"] or way.because not in score["explanation"]:
        return f"expected '{way.because}' in: {score['explanation']}"
    return None
