"""`ct traj …`: find recorded trajectories, show, compare and export them."""

from control_tower.cli.main import LazyGroup

_HERE = "control_tower.cli.traj"

traj = LazyGroup(
    {
        "list": (f"{_HERE}.listing:list_trajectories", "List recorded trajectories."),
        "show": (f"{_HERE}.showing:show", "Show a trajectory, action by action."),
        "diff": (f"{_HERE}.differing:diff", "Say where two trajectories part."),
        "export": (
            f"{_HERE}.exporting:export",
            "Write trajectories into a table or an Inspect log.",
        ),
    },
    name="traj",
    help=(
        "Find recorded trajectories, show, compare and export them.\n\nTRAJ_LIKE is an id or its "
        "beginning, a sample's id, a run's id, a file, a folder, or an Inspect log."
    ),
)
