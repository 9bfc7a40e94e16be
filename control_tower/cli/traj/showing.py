"""`ct traj show`."""

from __future__ import annotations

import click

from control_tower.cli.recorded import log_dir_option, sample_option
from control_tower.cli.steps import steps_in
from control_tower.cli.tables import print_lines


@click.command(short_help="Show a trajectory, action by action.")
@click.argument("traj_like", metavar="TRAJ_LIKE")
@sample_option
@click.option(
    "--step",
    "steps",
    multiple=True,
    metavar="N|N-M",
    help="Only these actions, counted from 0: 3, 2-5 or 2-5,7. Repeat for several.",
)
@click.option("--full", is_flag=True, help="Outputs whole, however long.")
@click.option("--json", "as_json", is_flag=True, help="The whole trajectory as JSON.")
@log_dir_option
def show(
    traj_like: str,
    sample_id: str | None,
    steps: tuple[str, ...],
    full: bool,
    as_json: bool,
    log_dir: str,
) -> None:
    """Show a trajectory: what it was of, its actions with decisions and suspicion, its scores.

    Of an action, # is what the agent said, | what came out, ! the error.
    """
    from control_tower.trajectories.lookup import find_recording, load
    from control_tower.trajectories.rendering import rendered
    from control_tower.trajectories.store import as_json as trajectory_as_json

    flag = "TRAJ_LIKE"
    recording = find_recording(traj_like, log_dir=log_dir, flag=flag, sample_id=sample_id)
    trajectory = load(recording, flag=flag)
    chosen = steps_in(steps, len(trajectory.actions), flag="--step")
    if as_json:
        click.echo(trajectory_as_json(trajectory))
        return
    print_lines(rendered(trajectory, steps=chosen, full=full))
