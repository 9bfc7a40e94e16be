"""`ct live …`: a sandbox to work in by hand."""

from control_tower.cli.main import LazyGroup

_HERE = "control_tower.cli.live"

live = LazyGroup(
    {
        "up": (f"{_HERE}.managing:up", "Start a session: the sandbox of an environment."),
        "status": (f"{_HERE}.managing:status", "List the sessions, and how they are."),
        "switch": (f"{_HERE}.managing:switch", "Choose the session that commands are about."),
        "down": (f"{_HERE}.managing:down", "Remove a session and its sandbox."),
        "shell": (f"{_HERE}.working:shell", "Work in the sandbox in a shell."),
        "exec": (f"{_HERE}.working:execute", "Run a command in the sandbox."),
        "score": (f"{_HERE}.working:score", "Run the tasks' scorers now."),
        "cp-to": (f"{_HERE}.copying:copy_to", "Copy a file or folder into the sandbox."),
        "cp-from": (f"{_HERE}.copying:copy_from", "Copy a file or folder out of the sandbox."),
        "record": (f"{_HERE}.keeping:record_session", "Keep what was done as a trajectory."),
        "solution": (f"{_HERE}.keeping:solution", "Make what was done the task's reference."),
    },
    name="live",
    help=(
        "A sandbox to work in by hand, as the agent: what is done there can be scored, recorded, "
        "and made a task's reference.\n\nA session outlives the terminal; `ct live down` removes "
        "it."
    ),
)
