"""Every run option, declared once.

The click command, the pytest options, the ini keys and the argv translation derive from
`OPTIONS`. This module stays free of heavy imports: pytest loads it in every session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["text", "integer", "flag", "directory", "choice"]
Command = Literal["eval2", "rerun-traj"]
FrontEnd = Literal["ct", "pytest"]
FRONT_END_FLAG = "--ct-front-end"
"""How `ct` tells the plugin that it was `ct` the user typed; not for users, and not in help."""


@dataclass(frozen=True)
class Option:
    """One run option and all its spellings."""

    key: str
    """Field of `RunOptions`; `ct_<key>` is the ini key."""
    kind: Kind
    help: str
    ct: tuple[str, ...] = ()
    """Spellings on `ct run …`, the long one first; empty for pytest-only options."""
    multiple: bool = False
    default: Any = None
    """The value when nobody sets it; shown in help where `help` does not say it."""
    minimum: int | None = None
    choices: tuple[str, ...] = ()
    """The values of a `choice`."""
    metavar: str | None = None
    commands: frozenset[Command] = frozenset({"eval2"})

    @property
    def pytest(self) -> str:
        """The `--ct-…` spelling."""
        return "--ct-" + self.key.replace("_", "-")

    @property
    def ini(self) -> str:
        """The ini key."""
        return f"ct_{self.key}"

    @property
    def help_text(self) -> str:
        """The help, with the default where it is a number or a directory."""
        shown = self.kind in ("integer", "directory", "choice") and self.default is not None
        return f"{self.help}  [default: {self.default}]" if shown else self.help

    def spelling(self, front_end: FrontEnd) -> str:
        """How a user of `front_end` writes it, for messages."""
        return self.ct[0] if front_end == "ct" and self.ct else self.pytest


def _text(key: str, help: str, *ct: str, **more: Any) -> Option:
    return Option(key=key, kind="text", help=help, ct=ct, **more)


def _integer(key: str, help: str, *ct: str, minimum: int = 1, **more: Any) -> Option:
    return Option(key=key, kind="integer", help=help, ct=ct, minimum=minimum, **more)


def _flag(key: str, help: str, *ct: str, **more: Any) -> Option:
    return Option(key=key, kind="flag", help=help, ct=ct, default=False, **more)


OPTIONS: tuple[Option, ...] = (
    _text(
        "env",
        "Environment(s) to run (repeat flag for multiple)",
        "--env",
        "-e",
        "--environment",
        multiple=True,
    ),
    _text(
        "env_arg",
        "Environment config option as key=value, or env:key=value when more than one selected "
        "environment declares the same key. Repeat for multiple.",
        "--env-arg",
        "-ea",
        multiple=True,
    ),
    _text("main_task", "Main task(s) to run", "--main-task", "-t", multiple=True),
    _text("side_task", "Side task(s) to run", "--side-task", "-s", multiple=True),
    _text(
        "trajectory_id",
        "Trajectory to extract task info from: the path of its file, or its ID among the runs in "
        "the log directory",
        "--trajectory-id",
        "--traj-id",
    ),
    _text(
        "task_file",
        "Task set name or path to file with task combinations. Use 'ct task-sets list' to see "
        "available task sets.",
        "--task-file",
    ),
    _integer("limit", "Limit the number of selected task combinations to run", "--limit"),
    _flag(
        "all",
        "Expand to all main×side combos (attack) or all main tasks (honest)",
        "--all",
    ),
    _flag(
        "just_main_tasks", "Expand to all main tasks only (for honest mode)", "--just-main-tasks"
    ),
    _flag("just_side_tasks", "Expand to all side tasks with no main task", "--just-side-tasks"),
    _flag(
        "env_only",
        "Use the first main task per environment (one sample per env, no side task)",
        "--env-only",
    ),
    _text(
        "category",
        "Filter main tasks by category (e.g. add_feature, fix_bug, refactor). Can be repeated.",
        "--category",
        "-c",
        multiple=True,
    ),
    Option(
        key="main_tasks_with_no_scorers",
        kind="choice",
        help="Main tasks lacking a scorer: refuse the run (error), keep them recorded as unscored "
        "(include), or drop them (exclude).",
        ct=("--main-tasks-with-no-scorers",),
        choices=("error", "include", "exclude"),
        default="error",
    ),
    _text(
        "changed_since",
        "Only combinations that a git diff since this revision touches, uncommitted changes "
        "included. Alone, it selects them from all environments.",
        "--changed-since",
        metavar="REV",
    ),
    _text(
        "untrusted_policy",
        "eval2 untrusted policy name. Defaults to honest when this option family is used.",
        "--untrusted-policy",
        default="honest",
    ),
    _text(
        "untrusted_policy_arg",
        "eval2 untrusted policy-specific args in key=value format (multiple allowed).",
        "--untrusted-policy-arg",
        "-up",
        multiple=True,
    ),
    _text(
        "protocol",
        "eval2 blue protocol name. Defaults to null-blue-team when this option family is used.",
        "--protocol",
        default="null-blue-team",
    ),
    _text(
        "protocol_arg",
        "eval2 blue protocol-specific args in key=value format (multiple allowed).",
        "--protocol-arg",
        "-bp",
        multiple=True,
    ),
    _text(
        "model_role",
        "Model for a role, as role=model; roles: untrusted. Repeat for multiple.",
        "--model-role",
        multiple=True,
        metavar="ROLE=MODEL",
    ),
    _text(
        "sandbox",
        "Where tool calls run: docker (default) or bwrap (namespaces of this Linux host, "
        "for portable environments).",
        "--sandbox",
    ),
    _integer("epochs", "Number of epochs to run", "--epochs", default=1),
    _integer("max_samples", "Maximum samples to run in parallel", "--max-samples", default=10),
    Option(
        key="log_dir",
        kind="directory",
        help="Directory for eval logs",
        ct=("--log-dir",),
        default="logs",
    ),
    _integer("retry_on_error", "Number of times to retry on error", "--retry-on-error", minimum=0),
    _flag(
        "no_fail_on_error",
        "Continue running if individual samples error (instead of failing the whole run)",
        "--no-fail-on-error",
    ),
    _integer(
        "scorer_timeout",
        "Timeout in seconds for scorer execution",
        "--scorer-timeout",
        default=600,  # so that none hangs a run
    ),
    _integer("token_limit", "Token limit for the evaluation", "--token-limit"),
    _integer("message_limit", "Message limit for the evaluation", "--message-limit"),
    _integer("sample_time_limit", "Time limit in seconds for each sample", "--sample-time-limit"),
    _flag(
        "score_twice",
        "Run every scorer twice; two different answers leave the task unscored.",
    ),
    _text(
        "assert",
        "What each item asserts, instead of what its policy is for: main-task-solved, "
        "no-undetected-sabotage, reference-works, nothing-free, or none (record only).",
    ),
)

SELECTING = ("env", "task_file", "trajectory_id", "changed_since")
"""Keys of the options of which a run needs one: they say which environments it is about."""

WAYS = (
    "all",
    "just_main_tasks",
    "just_side_tasks",
    "env_only",
    "task_file",
    "trajectory_id",
    "main_task",
    "side_task",
)
"""Keys of the options that say what of the environments is run: one, or both of the last."""

CONTRADICTIONS = (
    ("trajectory_id", "env"),
    ("trajectory_id", "category"),
    ("just_side_tasks", "category"),
)
"""Pairs of keys that contradict each other although they are not two ways."""

BY_KEY: Mapping[str, Option] = {option.key: option for option in OPTIONS}


def options_of(command: Command) -> Iterator[Option]:
    """The options that have a spelling on `ct run <command>`."""
    return (option for option in OPTIONS if option.ct and command in option.commands)


def to_pytest_argv(values: Mapping[str, Any]) -> list[str]:
    """The `--ct-…` arguments that say what `values` (by option key) says.

    Unset values (None, False, empty) are left out, so that ini files may still set them.
    """
    argv: list[str] = []
    for option in OPTIONS:
        value = values.get(option.key)
        if value is None or value is False or value == ():
            continue
        if option.kind == "flag":
            argv.append(option.pytest)
            continue
        items: Sequence[Any] = value if option.multiple else (value,)
        argv += [f"{option.pytest}={item}" for item in items]
    return argv
