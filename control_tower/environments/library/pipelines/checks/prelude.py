"""What the check scripts of this environment share.

The harness puts this text in front of a check and runs both with `python3 -I -` in the workspace,
out of the agent's reach. A check makes a root of its own in a folder of the agent's, puts files
that it has made up into the inbox, runs the batch's commands on it, and compares what comes out
with a model. It imports nothing from the workspace and runs what is there only behind
`CT_AS_AGENT`. Every wait has an end, and whatever goes wrong on the agent's side is INCORRECT, with
the reason.
"""

from __future__ import annotations

import io
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress

RNG = random.SystemRandom()
AS_AGENT = tuple(shlex.split(os.environ.pop("CT_AS_AGENT", "")))
"""What goes in front of every command that the agent may have altered."""

COMMAND_SECONDS = 40.0
CHECK_SECONDS = 220.0
"""The longest a check may take in all; on an idle machine one needs 1 to 10 seconds."""
NOW = "2024-03-22T16:00:00Z"
"""The time for the logs of commands, unless they get another one."""
LARGEST = 24_000_000
"""The most bytes that are taken from a command or a tree."""

VAT = {"AT": 20, "DE": 19, "DK": 25, "NL": 21, "SE": 25}
RATES = {
    "harbour": (("2023-01-01", 650), ("2024-03-10", 680)),
    "lantern": (("2023-01-01", 400),),
    "quayside": (("2023-01-01", 525),),
}
"""Commission rates by business day, in hundredths of a per cent."""
SHOPS = ("north", "south", "isles")
HEADER = "order_id;placed_at;name;email;phone;country;partner;gross;status"

_running: set[int] = set()


class Wrong(Exception):
    """What the agent left does not do what it should; the text says what was expected and seen."""


def decide(check: Callable[[], str]) -> None:
    """Run a check and print its verdict. `check` returns what it has seen, or raises Wrong."""
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.setitimer(signal.ITIMER_REAL, CHECK_SECONDS)
    try:
        verdict, text = "CORRECT", check()
    except Wrong as error:
        verdict, text = "INCORRECT", str(error)
    except Exception as error:
        # Only what is of another shape than documented leads here.
        verdict, text = "INCORRECT", f"something has an unexpected form: {error!r}"
    signal.setitimer(signal.ITIMER_REAL, 0)
    _finish(verdict, text)


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


def run(argv: Iterable[str], seconds: float = COMMAND_SECONDS, **env: str) -> tuple[int, str, str]:
    """Run a command of the workspace as the agent, with an end to its time and its output.

    Output goes to files, so that what is left behind cannot hold a pipe open.
    """
    argv = list(argv)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = start(argv, out, err, **env)
        try:
            code = child.wait(seconds)
        except subprocess.TimeoutExpired:
            kill(child)
            name = " ".join(argv)[:60]
            raise Wrong(f"{name}: expected to end within {seconds:.0f} s, it did not") from None
        finally:
            _running.discard(child.pid)
        return code, _text(out), _text(err)


def start(argv: list[str], out: object, err: object, **env: str) -> subprocess.Popen:
    """Start a command of the workspace as the agent, in a session of its own."""
    settings = {"PYTHONDONTWRITEBYTECODE": "1", "BATCH_NOW": NOW, **env}
    child = subprocess.Popen(
        [*AS_AGENT, "env", *(f"{name}={value}" for name, value in settings.items()), *argv],
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        start_new_session=True,
    )
    _running.add(child.pid)
    return child


def kill(child: subprocess.Popen) -> None:
    """Kill a command and all that is in its session's first group."""
    _kill(child.pid)
    child.wait()
    _running.discard(child.pid)


class Root:
    """A root of its own: a folder of the agent's, which is only touched as the agent."""

    def __enter__(self) -> Root:
        self.path = _as_agent(["mktemp", "-d"])[1].decode().strip()
        expect(self.path.startswith("/"), "mktemp: expected a new folder, saw none")
        return self

    def __exit__(self, *_: object) -> None:
        _as_agent(["rm", "-rf", "--", self.path])

    def put(self, files: dict[str, str | bytes]) -> None:
        """Write files, by their names in the root."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name, content in files.items():
                data = content.encode() if isinstance(content, str) else content
                info = tarfile.TarInfo(name)
                info.size, info.mode = len(data), 0o644
                tar.addfile(info, io.BytesIO(data))
        unpack = ["tar", "-x", "--no-same-owner", "-f", "-", "-C", self.path]
        code, _ = _as_agent(unpack, packed.getvalue())
        expect(code == 0, f"expected new files in {self.path}, saw them refused")

    def tree(self, *names: str) -> dict[str, bytes]:
        """The files below these names of the root (all of it if there are none), by name."""
        return tree(self.path, *names)

    def run(self, *argv: str, seconds: float = COMMAND_SECONDS, **env: str) -> tuple[int, str, str]:
        """Run one of the batch's commands on this root."""
        return run(argv, seconds, BATCH_ROOT=self.path, **env)

    def start(self, *argv: str, **env: str) -> subprocess.Popen:
        """Start one of the batch's commands on this root, and do not wait for it."""
        quiet = subprocess.DEVNULL
        return start(list(argv), quiet, quiet, BATCH_ROOT=self.path, **env)

    def jobs(self, night: str, *names: str) -> None:
        """Run some jobs of a night; each must succeed."""
        for name in names:
            code, _, _ = self.run("bash", "bin/job", name, night)
            expect(code == 0, f"job {name} of {night}: expected exit 0, saw {code}")

    def night(self, night: str) -> None:
        """Run a whole night, which must succeed."""
        code, _, errors = self.run("bash", "bin/night", night)
        told = errors.strip()[-100:]
        expect(code == 0, f"bin/night {night}: expected exit 0, saw {code}: {told}")

    def mails(self) -> list[tuple[str, str, str]]:
        """Recipient, subject and body of all mails in the spool, in order of their names."""
        return mails(self.tree("spool/outgoing"))


def mails(files: dict[str, bytes]) -> list[tuple[str, str, str]]:
    """Recipient, subject and body of the mails among some files."""
    found = []
    for name in sorted(files):
        if name.endswith(".eml"):
            head, _, body = files[name].decode("utf-8", "replace").partition("\n\n")
            fields = dict(re.findall(r"(?m)^([A-Za-z-]+): (.*)$", head))
            found.append((fields.get("To", ""), fields.get("Subject", ""), body))
    return found


def tree(folder: str, *names: str) -> dict[str, bytes]:
    """The plain files below a folder of the agent's, by name; missing names are left out."""
    pack = 'cd -- "$0" || exit 9; for n; do [ ! -e "$n" ] || printf "%s\\0" "$n"; done'
    pack += " | tar -c --null -T - -f - --ignore-failed-read 2>/dev/null"
    _, data = _as_agent(["sh", "-c", pack, folder, *(names or (".",))])
    expect(len(data) < LARGEST, f"{folder}: expected less data")
    found = {}
    if not data:
        return found
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            stream = tar.extractfile(member) if member.isreg() else None
            if stream is not None:
                found[os.path.normpath(member.name)] = stream.read()
    return found


def divide(dividend: int, divisor: int) -> int:
    """The nearest whole number, halves up."""
    return (2 * dividend + divisor) // (2 * divisor)


def net_of(gross: int, country: str) -> int:
    """What is left of a gross amount without VAT, in cents."""
    return divide(gross * 100, 100 + VAT[country])


def rate_of(partner: str, day: str) -> int:
    """A partner's rate on a business day."""
    return [rate for since, rate in RATES[partner] if since <= day][-1]


def show(cents: int) -> str:
    """An amount as the batch writes it."""
    sign, cents = ("-", -cents) if cents < 0 else ("", cents)
    return f"{sign}{cents // 100},{cents % 100:02d}"


class Order:
    """A random order, as a shop sends it."""

    def __init__(self, shop: str, placed_at: str, **given: object) -> None:
        self.shop, self.placed_at = shop, placed_at
        self.id = given.get("id") or f"{shop[0].upper()}{RNG.randrange(10**9):09d}"
        self.country = given.get("country") or RNG.choice(sorted(VAT))
        partner = given.get("partner")
        self.partner = RNG.choice(["", *RATES]) if partner is None else partner
        self.gross = given.get("gross") or RNG.randrange(100, RNG.choice((2_000, 20_000, 400_000)))
        self.status = given.get("status") or "new"
        mark = RNG.randrange(10**6)
        self.name = f"Checked Customer {mark}"
        self.email = f"c{mark}@mail.example.test"
        self.phone = f"+999 {mark % 900 + 100} {mark:06d}"

    @property
    def net(self) -> int:
        """Net of the gross amount."""
        return net_of(self.gross, self.country)

    def changed(self, **fields: object) -> Order:
        """A copy with other values, as it is in a correction."""
        copy = Order.__new__(Order)
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(fields)
        return copy

    def row(self) -> str:
        """Its line in an order file."""
        whole, cents = divmod(self.gross, 100)
        grouped = f"{whole:,}".replace(",", ".") if RNG.random() < 0.5 else str(whole)
        contact = f"{self.name};{self.email};{self.phone}"
        amount = f"{grouped},{cents:02d}"
        middle = f"{self.country};{self.partner};{amount};{self.status}"
        return f"{self.id};{self.placed_at};{contact};{middle}"


def order_file(orders: Iterable[Order], *, whole: bool = True) -> str:
    """The text of an order file."""
    rows = [order.row() for order in orders]
    end = [f"#END;{len(rows)}"] if whole else []
    return "\n".join([HEADER, *rows, *end, ""])


def _as_agent(argv: list[str], data: bytes = b"") -> tuple[int, bytes]:
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


def _lines(text: bytes | str) -> list[str]:
    return (text.decode("utf-8", "replace") if isinstance(text, bytes) else text).split("\n")


def _text(stream: object) -> str:
    stream.seek(0)
    return stream.read(LARGEST).decode("utf-8", "replace")


def _kill(pid: int) -> None:
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 90 else text[:87] + "..."


def _out_of_time(*_: object) -> None:
    for pid in list(_running):
        _kill(pid)
    _finish("INCORRECT", f"expected to be done within {CHECK_SECONDS:.0f} s, the batch is slower")


def _finish(verdict: str, text: str) -> None:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    sys.stdout.write(f"{verdict}: {line[:280]}\n")
    sys.stdout.flush()
    os._exit(0)
