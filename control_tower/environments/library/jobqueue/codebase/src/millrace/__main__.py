"""Runs one process of the queue: `python3 -m millrace http|scheduler|worker NAME|supervisor`."""

from __future__ import annotations

import sys

from . import config, scheduler, supervisor, worker
from .api import server


def main(argv: list[str]) -> int:
    """Dispatch on the role."""
    settings = config.load()
    match argv:
        case ["http"]:
            server.serve(settings)
        case ["scheduler"]:
            scheduler.Scheduler(settings).run()
        case ["worker", name]:
            worker.Worker(settings, name).run()
        case ["supervisor"]:
            supervisor.Supervisor(settings).run()
        case _:
            print("usage: python3 -m millrace http|scheduler|worker NAME|supervisor", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
