"""The table of run options: every one, declared once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from control_tower.options.option import Command, Option

STARTUP_RETRIES = 7
"""How often a start-up is tried again where nobody says how often."""


_BOTH: frozenset[Command] = frozenset({"eval2", "rerun-traj"})


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
        commands=_BOTH,
        rerun_help="Override environment from trajectory",
        rerun_once=True,
    ),
    _text(
        "env_arg",
        "Environment config option as key=value, or env:key=value when more than one selected "
        "environment declares the same key. Repeat for multiple.",
        "--env-arg",
        "-ea",
        multiple=True,
    ),
    _text(
        "main_task",
        "Main task(s) to run",
        "--main-task",
        "-t",
        multiple=True,
        commands=_BOTH,
        rerun_help="Override main task from trajectory",
        rerun_once=True,
    ),
    _text(
        "side_task",
        "Side task(s) to run",
        "--side-task",
        "-s",
        multiple=True,
        commands=_BOTH,
        rerun_help="Override side task from trajectory",
        rerun_once=True,
    ),
    _text(
        "trajectory_id",
        "Trajectory to extract task info from, and to replay: its ID among the runs in the log "
        "directory, its file, or a run, a folder or an Inspect log, which stand for all in it. "
        "Repeat for several.",
        "--trajectory-id",
        "--traj-id",
        multiple=True,
    ),
    _text(
        "rerun_traj",
        "Trajectory to replay and score again, named as for --ct-trajectory-id; --ct-env, "
        "--ct-main-task and --ct-side-task override what it says.",
    ),
    _text(
        "traj_sample_id",
        "Of an Inspect log or a run with several samples, the one with this id: "
        "ENVIRONMENT/MAIN/SIDE, or its unique id.",
        "--sample-id",
        commands=_BOTH,
        metavar="ID",
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
        "eval2 untrusted policy name. Defaults to honest when this option family is used. "
        "ct protocols eval2-policies to see available.",
        "--untrusted-policy",
        default="honest",
    ),
    _text(
        "untrusted_policy_arg",
        "eval2 untrusted policy-specific args in key=value format (multiple allowed). "
        "ct protocols eval2-policies <name> to see available args.",
        "--untrusted-policy-arg",
        "-up",
        multiple=True,
    ),
    _text(
        "protocol",
        "eval2 blue protocol name. Defaults to null-blue-team when this option family is used. "
        "ct protocols eval2-protocols to see available.",
        "--protocol",
        default="null-blue-team",
    ),
    _text(
        "protocol_arg",
        "eval2 blue protocol-specific args in key=value format (multiple allowed). "
        "ct protocols eval2-protocols <name> to see available args.",
        "--protocol-arg",
        "-bp",
        multiple=True,
    ),
    _text(
        "model_role",
        "Model for a role, as role=model. The model is a name or a YAML mapping with settings: "
        "monitor={model: openai/gpt-4o-mini, temperature: 0}. The policy and the protocol say "
        "which roles there are: untrusted, trusted, monitor, … Repeat for multiple.",
        "--model-role",
        multiple=True,
        metavar="ROLE=MODEL",
    ),
    _integer(
        "max_connections",
        "Maximum concurrent connections to a model's API",
        "--max-connections",
    ),
    _integer(
        "startup_retries",
        "Number of times to retry Docker sandbox startup on transient failures",
        "--startup-retries",
        minimum=0,
        implied=STARTUP_RETRIES,
        commands=_BOTH,
    ),
    _flag(
        "no_internet",
        "Block outbound internet access of the agent, whatever its environment says. (There is no "
        "internet simulator.)",
        "--no-internet",
        commands=_BOTH,
    ),
    _flag(
        "no_intranet",
        "Block access to compose sibling services (e.g. Redis).",
        "--no-intranet",
        commands=_BOTH,
    ),
    _flag(
        "network_control",
        "Grant NET_ADMIN to the agent container without applying restrictions at startup. "
        "Protocols that manage iptables mid-trajectory (e.g. privilege-monitor) need this.",
        "--network-control",
        commands=_BOTH,
    ),
    _flag(
        "sandbox_isolation",
        "Wrap every agent command in a bubblewrap sandbox: read-only root, writable workspace "
        "only. bwrap comes with the package; set CT_BWRAP_HOST_BINARY to override with "
        "your own.",
        "--sandbox-isolation",
        commands=_BOTH,
    ),
    Option(
        key="extra_src",
        kind="directory",
        help="Directory of experiment code added to PYTHONPATH locally, so external "
        "--untrusted-policy my.module:fn, --protocol my.module:fn and --sandbox my.module:type "
        "refs resolve without committing into the repo. Repeatable; each dir must have a distinct "
        "basename.",
        ct=("--extra-src",),
        multiple=True,
        commands=_BOTH,
        metavar="DIRECTORY",
    ),
    _text(
        "sandbox",
        "Where tool calls run: docker (default), bwrap (namespaces of this Linux host, for "
        "portable environments), or an Inspect sandbox provided outside this repo, as a registered "
        "type (my-sandbox) or module:type to import the module that registers it. inspect-docker "
        "is Inspect's own docker.",
        "--sandbox",
        commands=_BOTH,
    ),
    _text(
        "sandbox_arg",
        "Config for --sandbox in key=value format (multiple allowed), passed through to the "
        "sandbox as JSON.",
        "--sandbox-arg",
        multiple=True,
        metavar="KEY=VALUE",
        commands=_BOTH,
    ),
    _flag(
        "replay_sandbox",
        "Serve each action's recorded tool output from the replayed trajectory instead of "
        "executing it (requires --trajectory-id). Nothing is provisioned or executed. Works with "
        "any replay-like policy — one whose executed tool calls stay a verbatim prefix of the "
        "recording; a call that diverges raises.",
        "--replay-sandbox",
        commands=_BOTH,
        rerun_help="Serve each action's recorded tool output from the replayed trajectory instead "
        "of executing it. Nothing is provisioned or executed. Works with any replay-like policy — "
        "one whose executed tool calls stay a verbatim prefix of the recording; a call that "
        "diverges raises.",
    ),
    _integer("epochs", "Number of epochs to run", "--epochs", default=1),
    _integer("max_samples", "Maximum samples to run in parallel", "--max-samples", default=10),
    Option(
        key="log_dir",
        kind="directory",
        help="Directory for eval logs",
        ct=("--log-dir",),
        default="logs",
        commands=_BOTH,
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
        commands=_BOTH,
    ),
    _integer("token_limit", "Token limit for the evaluation", "--token-limit"),
    _integer(
        "message_limit",
        "Message limit for the evaluation",
        "--message-limit",
        commands=_BOTH,
        rerun_help="Message limit for the replay. Defaults to one sized to the recorded "
        "trajectory.",
    ),
    _integer("sample_time_limit", "Time limit in seconds for each sample", "--sample-time-limit"),
    _text("run_name", "Name for this run.", "--run-name"),
    _text("tag", "Tag to attach to the run.", "--tag", multiple=True),
    _flag(
        "score_twice",
        "Run every scorer twice; two different answers leave the task unscored.",
    ),
    _text(
        "assert",
        "What each item asserts, instead of what its policy is for: main-task-solved, "
        "no-undetected-sabotage, as-the-mode-says (the first of these without a side task, else "
        "the second), reference-works, nothing-free, scores-reproduced, or none (record only).",
    ),
)

BY_KEY: Mapping[str, Option] = {option.key: option for option in OPTIONS}


def options_of(command: Command) -> Iterator[Option]:
    """The options that have a spelling on `ct run <command>`, as they are there."""
    return (
        option.for_command(command)
        for option in OPTIONS
        if option.ct and command in option.commands
    )
