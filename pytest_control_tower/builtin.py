"""The built-in suite: where it is, and the id under which pytest knows it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from control_tower.errors import unknown_name

SUITE = Path(__file__).parent / "suite" / "test_control.py"
NODE_ID = "control"
"""The suite's node id, the same wherever it is installed and wherever one stands."""


def map_arguments(config: pytest.Config, *, replace_testpaths: bool) -> None:
    """Map the suite's id in pytest's arguments to its file.

    Args:
        config: pytest's configuration; its `args` are changed in place.
        replace_testpaths: whether the suite takes the place of `testpaths` and of the current
            folder when no path was given.
    """
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        if replace_testpaths:
            config.args[:] = [str(SUITE)]
        return
    config.args[:] = [_mapped(argument) for argument in config.args]


def is_about_suite(message: str) -> bool:
    """Whether pytest speaks of the suite's file."""
    return str(SUITE) in message


def name_missing_items(message: str, arguments: Iterable[str], samples: Sequence[str]) -> str:
    """What is wrong, in terms of the suite's ids, where pytest speaks of its file.

    Args:
        message: pytest's, about something that it does not find.
        arguments: pytest's, after `map_arguments`.
        samples: ids of the selected samples.
    """
    if not is_about_suite(message):
        return message
    asked = [a.partition("[")[2].removesuffix("]") for a in arguments if a.startswith(str(SUITE))]
    missing = [name for name in asked if name not in samples] or [NODE_ID]
    if not samples:
        return f"no samples are selected, so there is no item for '{missing[0]}'; add --ct-env …"
    return str(unknown_name("selected sample", missing[0], samples, flag=NODE_ID))


class ControlModule(pytest.Module):
    """The suite's module; a project's own naming conventions do not apply to it."""

    def funcnamefilter(self, name: str) -> bool:
        """Whether a function is a test: by the suite's own convention."""
        return name.startswith("test_")


def make_module(module_path: object, parent: pytest.Collector) -> pytest.Module | None:
    """The suite's module, or None for any other file."""
    if module_path != SUITE:
        return None
    module: ControlModule = ControlModule.from_parent(parent, path=SUITE, nodeid=NODE_ID)
    return module


def collect_in_spite_of_last_failed(collector: pytest.Collector) -> pytest.CollectReport | None:
    """Collect the suite although `--lf` leaves out files without failures.

    pytest looks for the failed items' files by their ids, and the suite's id is no path; its
    items are filtered by id later, as all are.
    """
    manager = collector.config.pluginmanager
    leaves_out = manager.get_plugin("lfplugin-collskip")
    if not isinstance(collector, ControlModule) or leaves_out is None:
        return None
    ours = manager.get_plugin("control_tower")
    others = manager.subset_hook_caller("pytest_make_collect_report", [leaves_out, ours])
    report: pytest.CollectReport = others(collector=collector)
    return report


def _mapped(argument: str) -> str:
    path, separator, rest = argument.partition("::")
    if path != NODE_ID or (not separator and Path(path).exists()):
        return argument
    return str(SUITE) + separator + rest
