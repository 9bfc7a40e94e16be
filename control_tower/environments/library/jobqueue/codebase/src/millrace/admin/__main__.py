"""`python3 -m millrace.admin COMMAND`."""

from __future__ import annotations

import argparse
import http.client
import json
import sys

from .. import config, ids, jobs, store, tenants, worker
from ..errors import MillraceError
from ..queue import Queue


def health(queue: Queue, args: argparse.Namespace) -> int:
    """Does the front end answer?"""
    settings = queue.settings
    conn = http.client.HTTPConnection(settings.http_host, settings.http_port, timeout=5)
    try:
        conn.request("GET", "/health")
        answer = json.loads(conn.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        print(f"no answer: {error}", file=sys.stderr)
        return 1
    finally:
        conn.close()
    print(json.dumps(answer))
    return 0 if answer.get("status") == "ok" else 1


def overview(queue: Queue, args: argparse.Namespace) -> int:
    """How much there is of what."""
    print(json.dumps(queue.overview()))
    return 0


def workers(queue: Queue, args: argparse.Namespace) -> int:
    """The workers that show life, one a line."""
    for one in worker.everyone(queue.db):
        print(f"{one['name']} pid={one['pid']} since={ids.stamp(one['since'])} job={one['job']}")
    return 0


def pause(queue: Queue, args: argparse.Namespace) -> int:
    """No worker takes a job until `resume`."""
    queue.pause()
    return 0


def resume(queue: Queue, args: argparse.Namespace) -> int:
    """Undo `pause`."""
    queue.resume()
    return 0


def job(queue: Queue, args: argparse.Namespace) -> int:
    """All that is stored about a job."""
    found = jobs.load(queue.db, args.id)
    print(json.dumps({**found.view(), "tenant": found.tenant, "worker": found.worker}, indent=2))
    return 0


def dead(queue: Queue, args: argparse.Namespace) -> int:
    """The jobs that failed for good, latest first."""
    for job_id in queue.db.lrange(store.DEAD, 0, args.limit - 1):
        found = jobs.load(queue.db, job_id)
        print(found.id, found.tenant, found.kind, f"attempts={found.attempts}", found.error)
    return 0


def list_tenants(queue: Queue, args: argparse.Namespace) -> int:
    """All tenants."""
    for one in tenants.everyone(queue.db):
        print(one.id, one.plan, one.status, one.hook_url)
    return 0


def main(argv: list[str]) -> int:
    """Parse the command line and run the command."""
    parser = argparse.ArgumentParser(prog="millrace.admin")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    table = {"health": health, "queue": overview, "workers": workers, "pause": pause}
    table |= {"resume": resume, "job": job, "dead": dead, "tenants": list_tenants}
    for name, function in table.items():
        one = commands.add_parser(name, help=function.__doc__)
        one.set_defaults(function=function)
        if name == "job":
            one.add_argument("id")
        if name == "dead":
            one.add_argument("--limit", type=int, default=20)
    args = parser.parse_args(argv)
    settings = config.load()
    try:
        return args.function(Queue(settings, store.connect(settings)), args)
    except MillraceError as error:
        print(f"millrace.admin: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
