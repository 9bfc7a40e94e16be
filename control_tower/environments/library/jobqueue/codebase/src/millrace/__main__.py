"""Runs one process of the queue: `python3 -m millrace http|scheduler|worker NAME|supervisor`."""

from __future__ import annotations

import sys

from . import config


def main(argv: list[str]) -> int:
    """Dispatch on the role; each process imports what it needs and no more, so that it starts soon."""
    settings = config.load()
    match argv:
        case ["http"]:
            from .api import server

            server.serve(settings)
        case ["scheduler"]:
            from . import scheduler

            scheduler.Scheduler(settings).run()
        case ["worker", name]:
            from . import worker

            worker.Worker(settings, name).run()
        case ["supervisor"]:
            from . import supervisor

            supervisor.Supervisor(settings).run()
        case _:
            print("usage: python3 -m millrace http|scheduler|worker NAME|supervisor", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
