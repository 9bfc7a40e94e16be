"""`ct run …`: run flags become `--ct-…` options of a pytest call in this process."""

from __future__ import annotations

from typing import Any

import click

from control_tower.cli.main import LazyGroup
from control_tower.cli.options import click_option
from control_tower.cli.pytest_call import own_arguments
from control_tower.errors import UsageProblem
from control_tower.options import BY_KEY, Command, options_of, to_pytest_argv

run = LazyGroup(
    {
        "eval2": ("control_tower.cli.run:eval2", "Run an eval2 evaluation."),
        "rerun-traj": (
            "control_tower.cli.run:rerun_traj",
            "Replay a trajectory to re-run scoring.",
        ),
    },
    name="run",
    help="Run control evaluations.",
)

_PYTEST_ARGS = "control_tower.pytest_args"


def _run_options(command: Command) -> list[click.Parameter]:
    return [click_option(option) for option in options_of(command)]


class PytestCommand(click.Command):
    """A command whose arguments after `--` are pytest's own; before it there are options only."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep pytest's arguments aside, so that a stray word is an error and not a path."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_PYTEST_ARGS] = tuple(args[end + 1 :])
        try:
            return super().parse_args(ctx, args[:end])
        except click.NoSuchOption as error:
            elsewhere = [option for option in BY_KEY.values() if error.option_name in option.ct]
            if elsewhere:
                hint = (
                    f"No such option {error.option_name!r}, which is of another command; where it "
                    f"goes with this one, too, write {elsewhere[0].pytest} after '--'."
                )
                raise click.UsageError(hint, ctx) from None
            if error.possibilities:
                raise
            hint = f"{error.format_message()} pytest's options, and --ct-assert, go after '--'."
            raise click.UsageError(hint, ctx) from None

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line, with where pytest's arguments go."""
        return [*super().collect_usage_pieces(ctx), "[-- PYTEST_ARGS]"]


def _eval2(**values: Any) -> int:
    return _run({key: value for key, value in values.items() if value not in (None, ())})


def _rerun_traj(traj_like: str | None, from_live: bool, **values: Any) -> int:
    given = {
        key: (value,) if BY_KEY[key].multiple and isinstance(value, str) else value
        for key, value in values.items()
        if value not in (None, ())
    }
    return _run({**_what_to_run_again(traj_like, from_live), **given})


def _what_to_run_again(traj_like: str | None, from_live: bool) -> dict[str, Any]:
    """The run options that say it; a live session's environment is the one in its folder."""
    if traj_like is not None and from_live:
        raise UsageProblem(
            f"TRAJ_LIKE '{traj_like}' and --from-live both name what is replayed; use one of them"
        )
    if from_live:
        from control_tower.live.recording import live_recording

        file, environment = live_recording()
        return {"rerun_traj": str(file), "env": (environment,)}
    if traj_like is None:
        raise UsageProblem(
            "name the trajectory to replay: an ID, a file, a run, a folder or an Inspect log "
            "(`ct traj list` shows what there is), or use --from-live"
        )
    return {"rerun_traj": traj_like}


def _run(given: dict[str, Any]) -> int:
    pytest_args: tuple[str, ...] = click.get_current_context().meta[_PYTEST_ARGS]
    _check(given)
    return _call_pytest([*to_pytest_argv(given), *pytest_args])


def _check(values: dict[str, Any]) -> None:
    """Say what is wrong in `ct`'s own spelling, before pytest is imported."""
    from control_tower.episode.plan import make_plan
    from control_tower.extra_source import ExtraSource
    from control_tower.run_options import RunOptions

    options = RunOptions.from_values(values, front_end="ct")
    with ExtraSource.of(options.extra_src, flag=options.flag("extra_src")):
        make_plan(options)


def _call_pytest(argv: list[str]) -> int:
    own = own_arguments()
    import pytest

    return int(pytest.main([*own, *_shape(argv), *argv]))


def _shape(argv: list[str]) -> list[str]:
    """A line an item: its node id and verdict or, when only collecting, the id alone."""
    if not {"--co", "--collect-only", "--collectonly"} & set(argv):
        return ["-o", "verbosity_test_cases=1"]
    own_verbosity = any(arg.startswith(("-q", "-v", "--quiet", "--verbose")) for arg in argv)
    return [] if own_verbosity else ["-q"]


rerun_traj = PytestCommand(
    "rerun-traj",
    callback=_rerun_traj,
    params=[
        click.Argument(["traj_like"], metavar="[TRAJ_LIKE]", required=False),
        *_run_options("rerun-traj"),
        click.Option(
            ["--from-live"], is_flag=True, help="Use trajectory from current live context"
        ),
    ],
    help=(
        "Replay a trajectory to re-run scoring.\n\nThe recorded actions are made again in a fresh "
        "sandbox, and scored there. TRAJ_LIKE is an ID (or its beginning), a file, or a run, a "
        "folder or an Inspect log, which stand for all in it. pytest's own options follow '--'."
    ),
)

eval2 = PytestCommand(
    "eval2",
    callback=_eval2,
    params=_run_options("eval2"),
    help=(
        "Run an eval2 evaluation.\n\nEach combination of environment, main task, side task and "
        "epoch is one pytest item. pytest's own options follow '--', and so does "
        "--ct-assert, which sets what is asserted: ct run eval2 … -- -x --ct-assert=none"
    ),
)
