"""From what a session is of to its combination and its sandbox, with every name checked."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from control_tower.environments.arguments import bind_arguments
from control_tower.environments.discovery import Catalog
from control_tower.environments.loading import load_environment
from control_tower.environments.model import Environment
from control_tower.errors import UsageProblem, unknown_name
from control_tower.extra_source import ExtraSource
from control_tower.live.session import Session
from control_tower.options import BY_KEY
from control_tower.sandboxes.choice import choose_sandbox
from control_tower.sandboxes.chosen import SandboxChoice
from control_tower.selection import Combination


@dataclass(frozen=True)
class Chosen:
    """What a session is a sandbox of."""

    combination: Combination
    sandbox: SandboxChoice


def flag(key: str) -> str:
    """How `ct live` spells a run option."""
    return BY_KEY[key].spelling("ct")


def find_environment(name: str) -> Environment:
    """The environment of that name or in that folder.

    Raises:
        UsageProblem: there is none.
    """
    return Catalog.discover().get(name, flag=flag("env"))


def chosen_by(session: Session) -> Chosen:
    """The combination and the sandbox of a session, read anew from the environment's files.

    Its own code stays importable: the sandbox may need more of it later.

    Raises:
        UsageProblem: a name does not exist, or the environment does not fit into the sandbox.
    """
    environment = load_environment(Path(session.directory))
    [environment] = bind_arguments(session.env_arg, [environment], {}, flag=flag("env_arg"))
    main = side = None
    if session.main_task is not None:
        main = environment.main_tasks.get(session.main_task)
        if main is None:
            kind, tasks = f"main task of {environment.id}", environment.main_tasks
            raise unknown_name(kind, session.main_task, tasks, flag=flag("main_task"))
    if session.side_task is not None:
        side = environment.side_tasks.get(session.side_task)
        if side is None:
            kind, others = f"side task of {environment.id}", environment.side_tasks
            raise unknown_name(kind, session.side_task, others, flag=flag("side_task"))
    combination = Combination(environment, main, side)
    if main and side and not combination.goes_together:
        raise UsageProblem(
            f"{flag('side_task')}: '{side.id}' does not go with main task '{main.id}'; it goes "
            f"with: {', '.join(side.info.compatible_main_tasks) or 'none'}"
        )
    ExtraSource([Path(place) for place in session.extra_src if place not in sys.path]).add()
    sandbox = choose_sandbox(session.sandbox, session.settings, flags=flag)
    sandbox.refuse_unfit(environment)
    return Chosen(combination, sandbox)
