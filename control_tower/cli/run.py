"""`ct run …`: run flags become `--ct-…` options of a pytest call in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from control_tower.cli.main import LazyGroup
from control_tower.errors import UsageProblem
from control_tower.options import FRONT_END_FLAG, Command, Option, options_of, to_pytest_argv

if TYPE_CHECKING:
    from pathlib import Path

run = LazyGroup(
    {"eval2": ("control_tower.cli.run:eval2", "Run an eval2 evaluation.")},
    name="run",
    help="Run control evaluations.",
)

_TYPES: dict[str, Any] = {"text": str, "directory": str}


def _click_option(option: Option) -> click.Option:
    long, *others = option.ct
    declared = [*(name for name in others if len(name) <= 3), long]
    declared += [name for name in others if len(name) > 3]
    if option.kind == "flag":
        return click.Option([*declared, option.key], is_flag=True, default=None, help=option.help)
    kind = (
        click.IntRange(min=option.minimum)
        if option.kind == "integer"
        else _TYPES.get(option.kind, str)
    )
    return click.Option(
        [*declared, option.key],
        type=kind,
        multiple=option.multiple,
        default=None,
        metavar=option.metavar,
        help=option.help,
    )


def _run_options(command: Command) -> list[click.Parameter]:
    return [_click_option(option) for option in options_of(command)]


def _eval2(pytest_args: tuple[str, ...], **values: Any) -> int:
    given = {key: value for key, value in values.items() if value not in (None, ())}
    _check(given)
    return _call_pytest([*to_pytest_argv(given), *pytest_args])


def _check(values: dict[str, Any]) -> None:
    """Say what is wrong in `ct`'s own spelling, before pytest is imported."""
    from control_tower.episode.plan import make_plan
    from control_tower.run_options import RunOptions

    make_plan(RunOptions.from_values(values, front_end="ct"))


def _call_pytest(argv: list[str]) -> int:
    from pathlib import Path

    import pytest

    own = ["-c", str(_packaged_ini()), "--rootdir", str(Path.cwd()), "--noconftest"]
    return int(pytest.main([*own, f"{FRONT_END_FLAG}=ct", *_shape(argv), *argv]))


def _shape(argv: list[str]) -> list[str]:
    """A line an item: its node id and verdict or, when only collecting, the id alone."""
    collecting = {"--co", "--collect-only", "--collectonly"} & set(argv)
    return ["-q"] if collecting else ["-o", "verbosity_test_cases=1"]


def _packaged_ini() -> Path:
    """The plugin's own pytest configuration, found without importing the plugin before pytest."""
    from importlib.util import find_spec
    from pathlib import Path

    plugin = find_spec("pytest_control_tower")
    if plugin is None or plugin.origin is None:
        raise UsageProblem("the package pytest_control_tower is not installed beside control_tower")
    return Path(plugin.origin).parent / "suite" / "ct.ini"


eval2 = click.Command(
    "eval2",
    callback=_eval2,
    params=[
        *_run_options("eval2"),
        click.Argument(["pytest_args"], nargs=-1, type=click.UNPROCESSED, metavar="[-- PYTEST…]"),
    ],
    help=(
        "Run an eval2 evaluation.\n\nEach combination of environment, main task, side task and "
        "epoch is one pytest item; pytest's own options follow '--'."
    ),
)
