"""Text that is put in front of checks of behaviour: what does the system do?

`check_script(check, prelude=BEHAVIOUR)` gives this file and the check to `python3 -I -` in the
sandbox, as one text, out of the agent's reach where the sandbox offers it. A check defines a
function that raises Wrong or returns what it has seen, and ends with `decide(function)`:

    def check() -> str:
        code, out, _ = run(["python3", "-m", "shop.admin", "verify"])
        same("verify: exit code", code, 0)
        return "the books agree"


    decide(check)

Whatever goes wrong on the agent's side is a verdict, INCORRECT, with the reason, and every wait has
an end. A check imports nothing from the workspace, since all of that is the agent's to change; what
`run`, `start` and `as_agent` start is started as the agent, and files of the agent's are touched
only so. The constants in capitals may be set anew by the text that follows.

Needs Python 3.10 and its standard library in the image, nothing else.
"""

from __future__ import annotations

import http.client
import os
import random
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import IO, NoReturn, TypeVar

CHECK_SECONDS = 80.0
"""The longest a check may take in all. With CLEANING_SECONDS, less than the `timeout` that
`check_script` is given."""
CLEANING_SECONDS = 30.0
"""The longest that what was given to `at_end` may take in all, after the verdict is known."""
COMMAND_SECONDS = 40.0
"""The longest that `run` and the helpers of `as_agent` may take, if nothing else is said."""
REQUEST_SECONDS = 20.0
"""How long `exchange` and `listens` wait for each step of an answer, if nothing else is said."""
LARGEST = 4_000_000
"""The most bytes that are taken from a command, a file or an answer."""
SHORT = 90
"""The most characters of a value in an explanation."""
AGENT_ENV: dict[str, str] = {}
"""Environment variables of every command that is run as the agent."""

AS_AGENT = tuple(shlex.split(os.environ.pop("CT_AS_AGENT", "")))
"""What goes in front of every command that the agent may have altered."""
RNG = random.SystemRandom()
"""Random numbers that nobody can foretell."""
NO_ANSWER = (OSError, http.client.HTTPException, ValueError, RecursionError)
"""What `exchange`, and reading JSON from its answer, may raise."""

ALONE = """
import os, runpy, sys
STARTS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "ctypes.dlopen")
def watch(event, args):
    if event in STARTS:
        os.write(2, b"it starts another program\\n")
        os._exit(97)
sys.addaudithook(watch)
name = sys.argv.pop(1)
runpy.run_module(name, run_name="__main__", alter_sys=True)
"""
"""For `python3 -c ALONE MODULE …`: `python3 -m MODULE …`, ended when it starts another program."""

_MOST_EXPLAINED = 280
_running: set[int] = set()
_at_end: list[Callable[[], object]] = []

_Seen = TypeVar("_Seen")


class Wrong(Exception):
    """What the agent left does not do what it should; the text says what was expected and seen."""


def decide(check: Callable[[], str]) -> NoReturn:
    """Run a check, print its verdict, and end.

    Args:
        check: returns what it has seen, a text, which is CORRECT, or raises Wrong.
    """
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.setitimer(signal.ITIMER_REAL, CHECK_SECONDS)
    try:
        verdict, text = "CORRECT", _text_of(check())
    except Wrong as error:
        verdict, text = "INCORRECT", str(error)
    except BaseException as error:
        # Only what has another shape than documented leads here.
        verdict, text = "INCORRECT", f"something has an unexpected form: {_shown(error)}"
    # The verdict stands, however long it takes to clean up.
    signal.signal(signal.SIGALRM, lambda *_: _finish(verdict, text))
    signal.setitimer(signal.ITIMER_REAL, CLEANING_SECONDS)
    for undo in reversed(_at_end):
        with suppress(BaseException):
            undo()
    signal.setitimer(signal.ITIMER_REAL, 0)
    _finish(verdict, text)


def _text_of(seen: object) -> str:
    """What a check has returned, which has to be a text."""
    if not isinstance(seen, str):
        raise TypeError(f"the check returned no text but {_short(seen)}")
    return seen


def at_end(undo: Callable[[], object]) -> None:
    """Have something undone once the verdict is known, the last one first.

    A check that takes too long is ended, and undoes nothing.
    """
    _at_end.append(undo)


def expect(holds: object, explanation: str) -> None:
    """Raise Wrong with the explanation unless `holds`."""
    if not holds:
        raise Wrong(explanation)


def same(what: str, seen: object, expected: object) -> None:
    """Raise Wrong unless what was seen is what was expected, types included."""
    if type(seen) is not type(expected) or seen != expected:
        raise Wrong(f"{what}: expected {_short(expected)}, saw {_short(seen)}")


def same_text(what: str, seen: bytes | str | None, expected: bytes | str | None) -> None:
    """Like `same` for texts of many lines; tells the first line that differs."""
    if seen is None or expected is None:
        same(what, seen, expected)
        return
    ours, theirs = _lines(expected), _lines(seen)
    for number, (our, their) in enumerate(zip(ours, theirs, strict=False), 1):
        same(f"{what}, line {number}", their, our)
    expect(len(ours) == len(theirs), f"{what}: expected {len(ours)} lines, saw {len(theirs)}")


def wait(probe: Callable[[], _Seen], seconds: float, pause: float = 0.1) -> _Seen:
    """What `probe` returns once it is true; its last answer after so many seconds."""
    deadline = time.monotonic() + seconds
    while not (seen := probe()) and time.monotonic() < deadline:
        time.sleep(pause)
    return seen


def run(
    argv: Iterable[str], seconds: float | None = None, *, data: bytes = b"", **env: str
) -> tuple[int, str, str]:
    """Run a command in the workspace, as the agent, with an end to its time and its output.

    Output goes to files, so that a server left behind cannot hold a pipe open.

    Args:
        argv: the command.
        seconds: until it is Wrong that it has not ended; COMMAND_SECONDS if not given.
        data: its standard input.
        env: environment variables besides AGENT_ENV.

    Returns:
        Its exit code, standard output and standard error.
    """
    argv, limit = list(argv), COMMAND_SECONDS if seconds is None else seconds
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = start(argv, out, err, data=data, **env)
        try:
            code = child.wait(limit)
        except subprocess.TimeoutExpired:
            kill(child)
            name = " ".join(argv)[:60]
            raise Wrong(f"{name}: expected to end within {limit:.0f} s, it did not") from None
        finally:
            _running.discard(child.pid)
        return code, _text(out), _text(err)


def start(
    argv: Iterable[str],
    out: IO[bytes] | int = subprocess.DEVNULL,
    err: IO[bytes] | int = subprocess.DEVNULL,
    *,
    data: bytes = b"",
    **env: str,
) -> subprocess.Popen[bytes]:
    """Begin a command in the workspace, as the agent, in a session of its own; see `run`.

    It is ended with the check if the check takes too long, and otherwise by `kill`.
    """
    variables = [f"{name}={value}" for name, value in {**AGENT_ENV, **env}.items()]
    prefix = [*AS_AGENT, "env", *variables] if variables else AS_AGENT
    with tempfile.TemporaryFile() as given:
        given.write(data)
        given.seek(0)
        child = subprocess.Popen(
            [*prefix, *argv],
            stdin=given if data else subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    _running.add(child.pid)
    return child


def kill(child: subprocess.Popen[bytes]) -> None:
    """End a command that was begun, and all that is in its process group."""
    _kill(child.pid)
    with suppress(subprocess.TimeoutExpired):
        child.wait(10)
    _running.discard(child.pid)


def as_agent(argv: Iterable[str], data: bytes = b"") -> tuple[int, bytes]:
    """Run a small helper as the agent; returns its exit code and standard output.

    Raises:
        Wrong: it has not ended within COMMAND_SECONDS.
    """
    argv = list(argv)
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


def read_file(path: str, most: int | None = None) -> bytes | None:
    """What a file of the agent's holds, up to `most` bytes (LARGEST); None if it is no file."""
    read = '[ -f "$0" ] || exit 4; exec head -c "$1" -- "$0"'
    code, data = as_agent(["sh", "-c", read, path, str(LARGEST if most is None else most)])
    return data if code == 0 else None


def write_file(path: str, data: bytes) -> None:
    """Write a file as the agent; Wrong if that cannot be done."""
    code, _ = as_agent(["sh", "-c", 'exec cat >"$0"', path], data)
    expect(code == 0, f"{path}: expected that it can be written, it cannot")


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
        """Write a file; returns its path. Wrong if that cannot be done."""
        path = os.path.join(self.path, name)
        write_file(path, data)
        return path

    def get(self, name: str, most: int | None = None) -> bytes | None:
        """What a file holds, up to `most` bytes (LARGEST); None if there is no such file."""
        return read_file(os.path.join(self.path, name), most)

    def remove(self, name: str) -> None:
        """Remove a file, if there is one."""
        as_agent(["rm", "-f", "--", os.path.join(self.path, name)])


def listens(host: str, port: int) -> bool:
    """Whether somebody takes a connection."""
    try:
        socket.create_connection((host, port), REQUEST_SECONDS).close()
    except OSError:
        return False
    return True


def exchange(
    address: tuple[str, int],
    method: str,
    path: str,
    body: str | bytes | None = None,
    headers: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> tuple[int, list[tuple[str, str]], bytes]:
    """One HTTP request, on a connection of its own.

    Returns:
        Status, headers (names in lower case), and the first LARGEST bytes of the body.

    Raises:
        OSError, http.client.HTTPException, ValueError: there was no usable answer (see NO_ANSWER).
    """
    limit = REQUEST_SECONDS if seconds is None else seconds
    conn = http.client.HTTPConnection(*address, timeout=limit)
    try:
        conn.request(method, path, body, dict(headers or {}))
        response = conn.getresponse()
        named = [(name.lower(), value) for name, value in response.getheaders()]
        return response.status, named, response.read(LARGEST)
    finally:
        conn.close()


def _lines(text: bytes | str) -> list[str]:
    return (text.decode("utf-8", "replace") if isinstance(text, bytes) else text).split("\n")


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read(LARGEST).decode("utf-8", "replace")


def _kill(pid: int) -> None:
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def _shown(value: object) -> str:
    try:
        return repr(value)
    except Exception:
        return f"a {type(value).__name__} that cannot be shown"


def _short(value: object) -> str:
    text = _shown(value)
    return text if len(text) <= SHORT else text[: SHORT - 3] + "..."


def _out_of_time(*_: object) -> None:
    for pid in list(_running):
        _kill(pid)
    _finish("INCORRECT", f"expected to be done within {CHECK_SECONDS:.0f} s, it was not")


def _finish(verdict: str, text: str) -> NoReturn:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    with suppress(Exception):
        sys.stdout.flush()
    os.write(1, f"{verdict}: {line[:_MOST_EXPLAINED]}\n".encode())
    os._exit(0)
