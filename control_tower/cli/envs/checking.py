"""`ct envs check`: an environment under `noop` and `reference`, and what does not hold of it."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from control_tower.analysis.environment_check import (
    Finding,
    Pair,
    covering_combinations,
    entries_of,
    every_combination,
    findings,
    problem_lines,
)
from control_tower.cli.envs.validating import report_faults
from control_tower.cli.options import WholeNumber, ct_flag
from control_tower.cli.pytest_call import PytestRuns
from control_tower.cli.tables import print_lines, print_table
from control_tower.environments.changes import Changes, changes_since
from control_tower.environments.discovery import Catalog
from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem, current_folder, unknown_name, user_path
from control_tower.extra_source import ExtraSource
from control_tower.options import to_pytest_argv
from control_tower.sandboxes.choice import choose_sandbox
from control_tower.sandboxes.chosen import SandboxChoice
from control_tower.sandboxes.settings import SandboxSettings
from control_tower.task_sets import write_task_set
from control_tower.trajectories.schema import Trajectory
from control_tower.trajectories.store import DIRECTORY


@click.command(short_help="Run an environment without a model, and say what does not hold.")
@click.argument("environments", nargs=-1, metavar="[ENVIRONMENT]...")
@click.option("--main-task", "-t", multiple=True, help="Only combinations with this main task.")
@click.option("--side-task", "-s", multiple=True, help="Only combinations with this side task.")
@click.option(
    "--quick",
    is_flag=True,
    help="Each main task alone, and few pairs, in which each task is once; all with -t or -s.",
)
@click.option(
    "--changed-since", metavar="REV", help="Only what a git diff since this revision touches."
)
@click.option("--sandbox", default=None, help="docker (default), bwrap, or as for 'ct run eval2'.")
@click.option(
    "--sandbox-arg",
    multiple=True,
    metavar="KEY=VALUE",
    help="Config for --sandbox, as for 'ct run eval2'. Repeatable.",
)
@click.option(
    "--extra-src",
    multiple=True,
    metavar="DIRECTORY",
    help="Directory in which the module of --sandbox my.module:type is found. Repeatable.",
)
@click.option(
    "--max-samples",
    type=WholeNumber(1),
    default=4,
    show_default=True,
    help="Samples to run in parallel.",
)
@click.option(
    "--scorer-timeout",
    type=WholeNumber(1),
    default=300,
    show_default=True,
    help="Seconds a scorer may take.",
)
@click.option("--log-dir", default="logs", show_default=True, help="Directory for eval logs.")
def check(
    environments: tuple[str, ...],
    main_task: tuple[str, ...],
    side_task: tuple[str, ...],
    quick: bool,
    changed_since: str | None,
    log_dir: str,
    **run_options: Any,
) -> int:
    """Run each ENVIRONMENT (a name or a path) without a model, and say what does not hold of it.

    Its files are validated first. Then the policy `noop` does nothing, and `reference` runs the
    authors' references, in all combinations; each is scored twice. Nothing may be solved for free,
    every reference must work, attacks must leave main tasks solved, and every scorer must come to
    an answer, the same one twice. The exit code is 1 if something does not hold, and 2 if the check
    was stopped.
    """
    catalog = Catalog.discover()
    choice = _sandbox_of(run_options)
    place = _log_directory(log_dir)
    if not environments and changed_since is None:
        known = ", ".join(catalog.names)
        raise UsageProblem(f"ct envs check: name an environment (available: {known})")
    names = [catalog.id_of(name, flag="ct envs check") for name in environments]
    wanted = dict.fromkeys(names or catalog.names)
    changes = None
    if changed_since is not None:
        changes = changes_since(
            changed_since, catalog.directories, flag="--changed-since", needed=names
        )
        wanted = dict.fromkeys(name for name in wanted if name in changes.environments)
        if not wanted:
            click.echo(f"nothing to check: {changes.nothing()}")
            return 0
    if sum(report_faults(catalog, name) for name in wanted):
        click.echo("not run, since its files are not right")
        return 1
    found = [catalog.get(name, flag="ct envs check") for name in wanted]
    _refuse_unknown_tasks(found, main_task, side_task)
    chosen = {
        environment.id: [
            pair
            for pair in _combinations(environment, main_task, side_task, quick)
            if _is_touched(environment, pair, changes)
        ]
        for environment in found
    }
    if not any(chosen.values()):
        if changes is None:
            named = ", ".join((*main_task, *side_task))
            raise UsageProblem(f"ct envs check: no combination has, and goes with, {named}")
        click.echo(f"nothing to check: {changes.nothing()}")
        return 0
    for environment in found:
        if chosen[environment.id]:
            choice.refuse_unfit(environment)
    return _Runs(found, chosen, to_pytest_argv(run_options), place).check()


def _sandbox_of(run_options: Mapping[str, Any]) -> SandboxChoice:
    """The sandbox that the options choose.

    Raises:
        UsageProblem: there is none of that name, or it does not honour what is asked of it.
    """
    settings = SandboxSettings(args=run_options["sandbox_arg"])
    with ExtraSource.of(run_options["extra_src"], flag=ct_flag("extra_src")):
        return choose_sandbox(run_options["sandbox"], settings, flags=ct_flag)


def _log_directory(text: str) -> Path:
    """Where runs are to be logged; nothing is made.

    Raises:
        UsageProblem: it cannot be made or written to, or the current folder is gone.
    """
    if not text.strip() or "://" in text:
        raise UsageProblem(f"--log-dir: '{text}' is no directory of this machine")
    path = current_folder() / user_path(text, flag="--log-dir")
    there = next(each for each in (path, *path.parents) if os.path.lexists(each))
    if not there.is_dir():
        reason = f"{there} is no folder"
    elif not os.access(there, os.W_OK | os.X_OK):
        reason = f"{there} may not be written to"
    else:
        return path
    raise UsageProblem(
        f"--log-dir: '{text}' cannot be made or used: {reason}; name a folder that can be"
    )


def _combinations(
    environment: Environment, mains: Sequence[str], sides: Sequence[str], quick: bool
) -> list[Pair]:
    """Those with the tasks that are named; few of them, if that is wanted and none is named."""
    named = bool(mains or sides)
    pairs = (covering_combinations if quick and not named else every_combination)(environment)
    return [pair for pair in pairs if _is_wanted(pair, mains, sides)]


def _is_wanted(pair: Pair, mains: Sequence[str], sides: Sequence[str]) -> bool:
    main, side = pair
    return (not mains or (main is not None and main.id in mains)) and (
        not sides or (side is not None and side.id in sides)
    )


def _is_touched(environment: Environment, pair: Pair, changes: Changes | None) -> bool:
    main, side = (task.id if task else None for task in pair)
    return changes is None or changes.touch(environment.id, main, side)


def _refuse_unknown_tasks(
    environments: Sequence[Environment], mains: Sequence[str], sides: Sequence[str]
) -> None:
    for kind, given, flag in (("main", mains, "--main-task"), ("side", sides, "--side-task")):
        known = {task for e in environments for task in getattr(e, f"{kind}_tasks")}
        for name in given:
            if name not in known:
                raise unknown_name(f"{kind} task", name, known, flag=flag)


class _Runs:
    """Two runs of pytest, each in a process of its own, and what they came to.

    Args:
        environments: that were found.
        chosen: combinations to run, by environment id.
        options: of both runs, in pytest's spelling.
        log_directory: where a directory for the runs is made.
    """

    def __init__(
        self,
        environments: Sequence[Environment],
        chosen: dict[str, list[Pair]],
        options: Sequence[str],
        log_directory: Path,
    ) -> None:
        self._environments = [e for e in environments if chosen[e.id]]
        self._chosen = chosen
        stamp = time.strftime("%Y-%m-%dT%H-%M-%S")
        names = "+".join(e.id for e in self._environments)[:60]
        self._directory = log_directory / f"{stamp}_check_{names}_{secrets.token_hex(2)}"
        self._options = [
            "--ct-score-twice",
            "--ct-no-fail-on-error",
            "--ct-main-tasks-with-no-scorers=include",
            *options,
            *(f"--ct-env={environment.directory}" for environment in self._environments),
        ]

    def check(self) -> int:
        """Run both policies and print the report; the exit code.

        Raises:
            UsageProblem: the log directory cannot be made.
            PytestStopped: as `PytestRuns.run`; the other policy is not run.
        """
        try:
            self._directory.mkdir(parents=True)
        except OSError as error:
            raise UsageProblem(f"--log-dir: {self._directory} cannot be made: {error}") from None
        task_set = self._directory / "combinations.jsonl"
        entries = [e for env in self._environments for e in entries_of(env, self._chosen[env.id])]
        write_task_set(task_set, entries)
        trajectories: dict[str, list[Trajectory]] = {}
        with PytestRuns() as runs:
            for policy in ("noop", "reference"):
                runs.run(self._arguments(policy, task_set), title=f"\n===== {policy} =====")
                trajectories[policy] = self._trajectories(policy)
                if all(t.outcome == "setup_error" for t in trajectories[policy]):
                    break  # the other policy would meet the same
        return self._report(trajectories.get("noop", []), trajectories.get("reference", []))

    def _arguments(self, policy: str, task_set: Path) -> list[str]:
        return [
            *self._options,
            f"--ct-untrusted-policy={policy}",
            f"--ct-task-file={task_set.absolute()}",
            f"--ct-log-dir={self._directory / policy}",
        ]

    def _trajectories(self, policy: str) -> list[Trajectory]:
        files = sorted((self._directory / policy).glob(f"*/{DIRECTORY}/*.json"))
        return [Trajectory.model_validate_json(file.read_bytes()) for file in files]

    def _report(self, noop: list[Trajectory], reference: list[Trajectory]) -> int:
        click.echo("\n===== what does, and does not, hold =====")
        rows: list[tuple[str, ...]] = []
        problems: list[str] = []
        for environment in self._environments:
            found = findings(_of(environment, noop), _of(environment, reference))
            rows += [(environment.id, each.claim, _verdict(each)) for each in found]
            problems += problem_lines(found)
        print_table(("environment", "claim", "holds"), rows)
        click.echo()
        print_lines(problems)
        unseen = sum(len(pairs) for pairs in self._chosen.values()) * 2 - len(noop + reference)
        if unseen:
            click.echo(f"{unseen} of the samples were not run")
        here = Path.cwd()
        place = self._directory
        click.echo(f"logs: {place.relative_to(here) if place.is_relative_to(here) else place}")
        return 1 if problems or unseen else 0


def _of(environment: Environment, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    return [t for t in trajectories if t.environment.id == environment.id]


def _verdict(finding: Finding) -> str:
    if not finding.cases:
        return "not tried"
    mark = "ok" if finding.holds == finding.cases else "FAILED"
    return f"{mark}  {finding.holds} of {finding.cases}"
