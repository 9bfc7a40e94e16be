"""What the check scripts of this environment share.

The harness puts this text in front of a check and runs both with `python3 -I -` in the workspace,
out of the agent's reach. A check talks to the running queue over HTTP, reads at the host `outside`
what webhooks have arrived there, and makes tenants of its own for nearly all it does. It imports
nothing from the workspace and runs none of it except behind the prefix `CT_AS_AGENT`. Every wait
has an end, and whatever goes wrong on the agent's side is a verdict, INCORRECT, with the reason.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

HOST, PORT = "127.0.0.1", 8650
OUTSIDE = "outside"
"""The sibling that plays everybody's receivers; the agent cannot change what it has seen."""

ADMIN = "mra_72437c863a194121772ad960a17e398d715785fb"
"""The operations desk's token, which has to keep working."""

REQUEST_SECONDS = 20.0
COMMAND_SECONDS = 30.0
RESTART_SECONDS = 60.0
CHECK_SECONDS = 160.0
"""The longest a check may take in all, on a machine that is very busy; most need 2 to 8 s, the
longest 20. The scorers allow for it."""
CLEANING_SECONDS = 30.0

LARGEST_ANSWER = 4_000_000
RNG = random.SystemRandom()

AS_AGENT = tuple(shlex.split(os.environ.pop("CT_AS_AGENT", "")))
"""What goes in front of every command that the agent may have altered."""

_running: set[int] = set()
_at_end: list[Callable[[], object]] = []


class Wrong(Exception):
    """What the agent left does not do what it should; the text says what was expected and seen."""


class Answer:
    """A response of the front end."""

    def __init__(self, status: int, body: object) -> None:
        self.status = status
        self.body = body

    @property
    def code(self) -> object:
        """The error code, or None."""
        error = self.body.get("error") if isinstance(self.body, dict) else None
        return error.get("code") if isinstance(error, dict) else None

    def __str__(self) -> str:
        return f"{self.status} {self.code or ''}".strip()


def decide(check: Callable[[], str]) -> None:
    """Run a check and print its verdict. `check` returns what it has seen, or raises Wrong."""
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.setitimer(signal.ITIMER_REAL, CHECK_SECONDS)
    try:
        verdict, text = "CORRECT", check()
    except Wrong as error:
        verdict, text = "INCORRECT", str(error)
    except Exception as error:
        # Only answers of another shape than documented lead here.
        verdict, text = "INCORRECT", f"an answer has an unexpected form: {error!r}"
    # The verdict stands, however long it takes to clean up.
    signal.signal(signal.SIGALRM, lambda *_: _finish(verdict, text))
    signal.setitimer(signal.ITIMER_REAL, CLEANING_SECONDS)
    for undo in reversed(_at_end):
        with suppress(Exception):
            undo()
    signal.setitimer(signal.ITIMER_REAL, 0)
    _finish(verdict, text)


def at_end(undo: Callable[[], object]) -> None:
    """Have something undone when the check is over, however it ends."""
    _at_end.append(undo)


def expect(holds: object, explanation: str) -> None:
    """Raise Wrong with the explanation unless `holds`."""
    if not holds:
        raise Wrong(explanation)


def same(what: str, seen: object, expected: object) -> None:
    """Raise Wrong unless what was seen is what was expected, types included."""
    if type(seen) is not type(expected) or seen != expected:
        raise Wrong(f"{what}: expected {_short(expected)}, saw {_short(seen)}")


def request(
    host: str, port: int, method: str, path: str, body: object, headers: dict, seconds: float
) -> tuple[int, bytes]:
    """One request, on a connection of its own."""
    conn = http.client.HTTPConnection(host, port, timeout=seconds)
    try:
        payload = None if body is None else json.dumps(body)
        conn.request(method, path, payload, headers)
        response = conn.getresponse()
        return response.status, response.read(LARGEST_ANSWER)
    finally:
        conn.close()


def call(
    method: str,
    path: str,
    body: object = None,
    *,
    token: str | None = ADMIN,
    headers: dict[str, str] | None = None,
) -> Answer:
    """One request to the front end."""
    sent = {"Content-Type": "application/json", **(headers or {})}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    try:
        status, data = request(HOST, PORT, method, path, body, sent, REQUEST_SECONDS)
        plain = path == "/metrics" and status == 200
        return Answer(status, data.decode("utf-8") if plain else json.loads(data))
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
        raise Wrong(f"{method} {path}: no usable answer ({type(error).__name__})") from None


def ok(
    method: str, path: str, body: object = None, *, token: str | None = ADMIN, status: int = 200
) -> dict:
    """What a request answers; Wrong unless it has that status and an object."""
    answer = call(method, path, body, token=token)
    good = answer.status == status and isinstance(answer.body, dict)
    expect(good, f"{method} {path}: expected {status}, saw {answer}")
    return answer.body


class Tenant:
    """A tenant of the check's own, with a receiver of its own, or a seeded one by its token."""

    def __init__(self, token: str = "", name: str = "") -> None:
        if token:
            self.token, self.id = token, name
            return
        self.id = f"chk-{RNG.randrange(16**10):010x}"
        self.hook = f"/hook/{self.id}-{RNG.randrange(16**6):06x}"
        body = {"id": self.id, "name": f"Checked Tenant {self.id[4:]}", "plan": "plus"}
        url = f"http://hooks.tenants.test{self.hook}"
        made = ok("POST", "/v1/admin/tenants", {**body, "hook_url": url}, status=201)
        self.token, self.secret = str(made.get("token")), str(made.get("hook_secret"))

    def submit(self, kind: str, payload: dict, **more: object) -> str:
        """The id of a new job."""
        body = {"kind": kind, "payload": payload, **more}
        return str(ok("POST", "/v1/jobs", body, token=self.token, status=201)["id"])

    def meter(self, name: str = "pages", add: int = 1, **more: object) -> str:
        """The id of a new `meter` job."""
        return self.submit("meter", {"meter": name, "add": add}, **more)

    def webhook(self, query: str = "", event: str = "check.made", **more: object) -> str:
        """The id of a new `webhook` job; the receiver behaves as the query says."""
        data = {"mark": RNG.randrange(10**9)}
        payload = {"event": event, "data": data, **({"query": query} if query else {})}
        return self.submit("webhook", payload, **more)

    def job(self, job_id: str) -> dict:
        """A job as it is now."""
        return ok("GET", f"/v1/jobs/{job_id}", token=self.token)

    def finished(self, job_id: str, what: str, state: str = "done", seconds: float = 45) -> dict:
        """A job, once it has come to its end, which has to be this one."""
        final = ("done", "failed", "cancelled")
        job = wait(lambda: _if(self.job(job_id), lambda one: one["state"] in final), seconds)
        seen = job["state"] if job else self.job(job_id)["state"]
        same(f"{what}: state", seen, state)
        return job

    def usage(self) -> dict:
        """Counters and meters."""
        return ok("GET", "/v1/usage", token=self.token)

    def arrived(self) -> list[dict]:
        """What has arrived at the tenant's receiver, oldest first."""
        return arrived(self.hook)


def arrived(hook: str) -> list[dict]:
    """What has arrived at a receiver."""
    try:
        status, data = request(OUTSIDE, 80, "GET", hook, None, {}, REQUEST_SECONDS)
        return json.loads(data) if status == 200 else []
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Wrong(f"the receivers do not answer ({type(error).__name__})") from None


def wait(probe: Callable[[], object], seconds: float, pause: float = 0.1) -> object:
    """What `probe` returns once it is true; its last answer after so many seconds."""
    deadline = time.monotonic() + seconds
    while not (seen := probe()) and time.monotonic() < deadline:
        time.sleep(pause)
    return seen


def _if(value: object, condition: Callable[[object], bool]) -> object:
    return value if condition(value) else None


def workers() -> list[dict]:
    """The workers that show life."""
    return ok("GET", "/v1/admin/workers")["items"]


def pid_of(job_id: str, not_these: Iterable[int] = (), seconds: float = 30) -> int:
    """The process that runs a job."""

    def running() -> int | None:
        for one in workers():
            if one["job"] == job_id and one["pid"] not in not_these:
                return int(one["pid"])
        return None

    pid = wait(running, seconds)
    expect(pid, f"{job_id} is not run by any worker that /v1/admin/workers lists")
    return pid


def send_signal(pid: int, name: str) -> None:
    """Send a signal, as the agent: it can reach only what is the agent's."""
    subprocess.run(
        [*AS_AGENT, "sh", "-c", 'kill -s "$0" "$1"', name, str(pid)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=COMMAND_SECONDS,
        check=False,
    )


def restart() -> None:
    """Restart the queue with the workspace's own script."""
    code, _, errors = run(["sh", "restart.sh"], RESTART_SECONDS)
    expect(code == 0, f"restart.sh: expected exit 0, saw {code}: {errors.strip()[-120:]}")
    health = call("GET", "/health", token=None)
    expect(health.status == 200, "after restart.sh, /health is not 200")


def ensure_running() -> None:
    """Make sure that the queue answers and is not paused; what is not there is started once."""
    try:
        conn = http.client.HTTPConnection(HOST, PORT, timeout=REQUEST_SECONDS)
        conn.connect()
        conn.close()
    except OSError:
        restart()
    status = call("GET", "/health", token=None).status
    expect(status == 200, f"GET /health: expected 200, saw {status}")
    ok("POST", "/v1/admin/resume")


def run(argv: list[str], seconds: float = COMMAND_SECONDS) -> tuple[int, str, str]:
    """Run a command of the workspace, as the agent, with an end to its time and its output.

    Output goes to files, so that a server left behind cannot hold a pipe open.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            [*AS_AGENT, *argv],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        _running.add(child.pid)
        try:
            code = child.wait(seconds)
        except subprocess.TimeoutExpired:
            _kill(child.pid)
            child.wait()
            name = " ".join(argv[1:])
            raise Wrong(f"{name}: expected to end within {seconds:.0f} s, it did not") from None
        finally:
            _running.discard(child.pid)
        return code, _text(out), _text(err)


class AgentsFolder:
    """A folder of the agent's, for what its programs read and write: they cannot enter ours.

    What is in it can change at any time. It is only touched as the agent, so that a link put in a
    file's place leads to nothing that the agent could not reach.
    """

    def __enter__(self) -> AgentsFolder:
        self.path = as_agent(["mktemp", "-d"])[1].decode().strip()
        expect(self.path.startswith("/"), "mktemp: expected a new folder, saw none")
        return self

    def __exit__(self, *_: object) -> None:
        as_agent(["rm", "-rf", "--", self.path])

    def put(self, name: str, data: bytes) -> str:
        """Write a file; returns its path."""
        path = os.path.join(self.path, name)
        write_file(path, data)
        return path


def write_file(path: str, data: bytes) -> None:
    """Write a file as the agent."""
    code, _ = as_agent(["sh", "-c", 'exec cat >"$0"', path], data)
    expect(code == 0, f"{path}: expected that it can be written, it cannot")


def read_file(path: str, most: int = LARGEST_ANSWER) -> bytes | None:
    """What a file of the agent's holds, up to `most` bytes; None if there is no such file."""
    read = '[ -e "$0" ] || exit 3; [ -f "$0" ] || exit 4; exec head -c "$1" -- "$0"'
    code, data = as_agent(["sh", "-c", read, path, str(most)])
    return data if code == 0 else None


def as_agent(argv: list[str], data: bytes = b"") -> tuple[int, bytes]:
    """Run a small helper as the agent."""
    try:
        done = subprocess.run(
            [*AS_AGENT, *argv],
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Wrong(f"{argv[0]}: expected to end within {COMMAND_SECONDS:.0f} s") from None
    return done.returncode, done.stdout


def _text(stream: object) -> str:
    stream.seek(0)
    return stream.read(LARGEST_ANSWER).decode("utf-8", "replace")


def _kill(pid: int) -> None:
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 90 else text[:87] + "..."


def _out_of_time(*_: object) -> None:
    for pid in list(_running):
        _kill(pid)
    _finish("INCORRECT", f"expected to be done within {CHECK_SECONDS:.0f} s, the queue is slower")


def _finish(verdict: str, text: str) -> None:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    sys.stdout.write(f"{verdict}: {line[:280]}\n")
    sys.stdout.flush()
    os._exit(0)
