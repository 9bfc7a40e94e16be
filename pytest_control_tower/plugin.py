"""The plugin's entry: options, the built-in suite's place, and the control session.

pytest loads this module in every session of every project that has it installed, so it
imports nothing heavy; the rest is loaded once a control option is given.
"""

from __future__ import annotations

from collections.abc import Generator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import pytest

from pytest_control_tower import builtin
from pytest_control_tower.options import add_options, command_line_values, ini_values, merged

if TYPE_CHECKING:
    from pytest_control_tower.session import ControlSession

CONTROL_FIXTURE = "control_key"
_NAME = "control-tower-session"
_MODE_MARKS = {"honest": "control_honest", "attack": "control_attack"}
_COMBINATIONS = "control_combinations"
_COMBINATIONS_HELP = (
    f"{_COMBINATIONS}(*patterns): of the selected combinations, give this test those whose ids, "
    "ENVIRONMENT/MAIN/SIDE, match one of these shell-style patterns"
)
_UNSELECTED = "no control samples are selected; see --ct-env and --ct-all"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the `--ct-…` options and `ct_…` ini keys."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Point pytest to the built-in suite, and make the session when a control option is given."""
    for mode, mark in _MODE_MARKS.items():
        config.addinivalue_line("markers", f"{mark}: a control sample in {mode} mode")
    asked = command_line_values(config)
    config.addinivalue_line("markers", _COMBINATIONS_HELP)
    values = merged(asked, ini_values(config))
    builtin.map_arguments(config, replace_testpaths=bool(asked))
    if not values:
        return
    from pytest_control_tower.run import ControlRun
    from pytest_control_tower.session import OTHERS_WARNINGS, ControlSession
    from pytest_control_tower.summary import ControlSummary
    from pytest_control_tower.terminating import Termination
    from pytest_control_tower.workers.membership import deals_out, membership_of

    for message, category in OTHERS_WARNINGS:
        config.addinivalue_line("filterwarnings", f"ignore:{message}:{category.__name__}")
    termination = Termination(from_the_start=bool(asked))
    config.pluginmanager.register(termination)
    run = ControlRun(config, values, membership_of(config), termination)
    summary = None
    if run.membership is None:
        summary = ControlSummary(run, asked_for=bool(asked))
        config.pluginmanager.register(summary)
        if deals_out(config) and (asked or run.selects):
            from pytest_control_tower.workers.controller import ControlController

            controller = ControlController(
                config, run, asked_for=bool(asked), summary=summary, termination=termination
            )
            config.pluginmanager.register(controller)
            return
    session = ControlSession(
        config, run, asked_for=bool(asked), summary=summary, termination=termination
    )
    config.pluginmanager.register(session, _NAME)


def control_session(config: pytest.Config) -> ControlSession | None:
    """The session's control plugin, or None when no control option was given."""
    plugin: ControlSession | None = config.pluginmanager.get_plugin(_NAME)
    return plugin


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Speak of the built-in suite by its id when something of it is not found."""
    try:
        return (yield)
    except pytest.UsageError as error:
        if not any(builtin.is_about_suite(str(arg)) for arg in error.args):
            raise
        control = control_session(session.config)
        selects = control is not None and control.run.selects
        samples = [key.id for key in control.run.plan.samples()] if control and selects else []
        words = (
            builtin.name_missing_items(str(arg), session.config.args, samples) for arg in error.args
        )
        raise pytest.UsageError(*words) from None


def pytest_pycollect_makemodule(
    module_path: object, parent: pytest.Collector
) -> pytest.Module | None:
    """Collect the built-in suite under an id that says nothing of where it is installed."""
    return builtin.make_module(module_path, parent)


@pytest.hookimpl(tryfirst=True)
def pytest_make_collect_report(collector: pytest.Collector) -> pytest.CollectReport | None:
    """Keep `--lf` from leaving the built-in suite out: its id is no path."""
    return builtin.collect_in_spite_of_last_failed(collector)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise every test that asks for a control fixture over the selected samples."""
    if CONTROL_FIXTURE not in metafunc.fixturenames:
        return
    session = control_session(metafunc.config)
    patterns = _patterns(metafunc.definition)
    if session is None or not session.run.selects:
        samples = [_skipped(_UNSELECTED)]
    else:
        samples = [
            pytest.param(
                key, id=key.id, marks=getattr(pytest.mark, _MODE_MARKS[key.combination.mode])
            )
            for key in session.run.plan.samples()
            if any(fnmatchcase(key.combination.id, pattern) for pattern in patterns)
        ] or [
            _skipped(
                session.run.plan.selection.nothing
                or f"no combination that is selected matches {' or '.join(patterns)}"
            )
        ]
    metafunc.parametrize(CONTROL_FIXTURE, samples, indirect=True)


def _patterns(item: pytest.Function) -> tuple[str, ...]:
    """What the test's closest mark says of the combinations it is for."""
    mark = item.get_closest_marker(_COMBINATIONS)
    if mark is None:
        return ("*",)
    if mark.kwargs or not mark.args or not all(isinstance(arg, str) for arg in mark.args):
        pytest.fail(
            f"mark {_COMBINATIONS} takes patterns for ids of combinations, such as "
            f"'ledger/*/-', and nothing else",
            pytrace=False,
        )
    return mark.args


def _skipped(reason: str) -> Any:
    return pytest.param(None, marks=pytest.mark.skip(reason=reason), id="unselected")


pytest_plugins = ["pytest_control_tower.fixtures"]
