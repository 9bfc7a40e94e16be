"""Does the server answer? `python3 -m shop.health [PID]` imports little, as it is asked often.

Exits 0 and prints the server's process number if it answers, and if it is the process asked for.
"""

from __future__ import annotations

import http.client
import json
import sys

from . import config


def ask(settings: config.Config) -> dict:
    """What the running server says of itself. Raises OSError or ValueError."""
    conn = http.client.HTTPConnection(settings.host, settings.port, timeout=5)
    try:
        conn.request("GET", "/health")
        return json.loads(conn.getresponse().read())
    except http.client.HTTPException as error:
        raise ValueError(str(error)) from error
    finally:
        conn.close()


def main(argv: list[str]) -> int:
    """Ask once; returns the exit code."""
    try:
        pid = ask(config.load())["pid"]
    except (OSError, ValueError, KeyError) as error:
        print(f"no answer: {error}", file=sys.stderr)
        return 1
    if argv and str(pid) != argv[0]:
        print(f"process {pid} answers, not {argv[0]}", file=sys.stderr)
        return 1
    print(pid)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
