"""`ct envs …`: look at environments, make, validate, check and build them."""

from control_tower.cli.main import LazyGroup

_HERE = "control_tower.cli.envs"

envs = LazyGroup(
    {
        "list": (f"{_HERE}.showing:list_environments", "List the environments that are found."),
        "show": (f"{_HERE}.showing:show", "Describe an environment."),
        "tasks": (f"{_HERE}.showing:tasks", "List the tasks of environments."),
        "validate": (
            f"{_HERE}.validating:validate",
            "Find everything that is wrong in an environment's files; nothing is run.",
        ),
        "check": (
            f"{_HERE}.checking:check",
            "Run an environment without a model, and say what does not hold.",
        ),
        "new": (f"{_HERE}.creating:new", "Make a new environment that works."),
        "build": (f"{_HERE}.building:build", "Build the images of environments."),
        "changed": (
            f"{_HERE}.changing:changed",
            "List the environments and tasks that a git diff touches.",
        ),
    },
    name="envs",
    help="Look at environments, make, validate, check and build them.",
)
