set -euo pipefail
cat > ledger/bank_lines.py <<'PY'
"""Turn the bank's lists of incoming payments into deposits; docs/bank-lists.md has the format.

    python3 -m ledger.bank_lines [-n] [-m MINIMUM] [-s STATE] FILE...

This does what tools/bank-lines.sh did, to the byte. Where that looks odd, it is on purpose: Finance
compares the output with that of earlier months. Everything is bytes, as it was in the shell's C locale.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field

PLACES = {b"EUR": 2, b"USD": 2, b"GBP": 2, b"KWD": 3, b"JPY": 0}
_MONTH = re.compile(rb".{4}(0[1-9]|1[0-2])", re.DOTALL)
_DATE = re.compile(rb"[0-9]{8}")
_DIGITS = re.compile(rb"[0-9]+")
_ACCOUNT = re.compile(rb"[0-9a-f]{12}")


class Usage(Exception):
    """The command line or the state cannot be used."""


class Refused(Exception):
    """A payment that is left out because it is wrong."""


class Skipped(Exception):
    """A payment that is left out although nothing is wrong with it."""


@dataclass
class Options:
    """What the command line says."""

    dry: bool = False
    minimum: bytes = b"0"
    state: bytes = b""
    files: list[bytes] = field(default_factory=list)


def parse(argv: list[bytes]) -> Options:
    """Options as getopts takes them: they end at the first argument that is none, or after --."""
    options, rest = Options(), list(argv)
    while rest and rest[0].startswith(b"-") and rest[0] != b"-":
        word = rest.pop(0)
        if word == b"--":
            break
        letters = word[1:]
        while letters:
            letter, letters = letters[:1], letters[1:]
            if letter == b"n":
                options.dry = True
                continue
            if letter not in (b"m", b"s"):
                raise Usage(b"unknown option -" + letter)
            if not letters and not rest:
                raise Usage(b"-" + letter + b" needs a value")
            value, letters = letters or rest.pop(0), b""
            if letter == b"m":
                options.minimum = value
            else:
                options.state = value
    options.files = rest
    if not rest:
        raise Usage(b"no file")
    if len(options.minimum) > 11 or not _DIGITS.fullmatch(options.minimum):
        raise Usage(b"not a minimum: " + options.minimum)
    return options


def ended_lines(data: bytes) -> list[bytes]:
    """The lines of a file; what follows the last newline is none."""
    return data.split(b"\n")[:-1]


def after_first(text: bytes, mark: bytes) -> bytes:
    """What follows the first `mark`; all of the text when there is none."""
    return text.split(mark, 1)[-1]


def fields(line: bytes) -> list[bytes]:
    """Date, amount, currency and reference. Of a line that is too short, the last one is repeated."""
    found, rest = [], line
    for _ in range(4):
        found.append(rest.split(b";", 1)[0])
        rest = after_first(rest, b";")
    return found


def minor_units(given: bytes, places: int) -> bytes:
    """An amount in minor units, without leading zeros. Raises Refused for what is none."""
    if given.startswith(b"-"):
        raise Refused(b"a debit: " + given)
    whole, _, fraction = given[given.startswith(b"+") :].partition(b",")
    whole = whole.replace(b".", b"")
    if not _DIGITS.fullmatch(whole + fraction):
        raise Refused(b"no amount: " + given)
    if fraction[places:].strip(b"0"):
        raise Refused(b"too precise: " + given)
    minor = (whole + fraction[:places].ljust(places, b"0")).lstrip(b"0")
    if not minor:
        raise Refused(b"nothing: " + given)
    if len(minor) > 12:
        raise Refused(b"too much: " + given)
    return minor


def account_in(reference: bytes) -> bytes:
    """The account that the first `acct_` of a reference names. Raises Refused if it names none."""
    _, mark, after = reference.partition(b"acct_")
    if not mark or not _ACCOUNT.fullmatch(after[:12]):
        raise Refused(b"no account: " + reference)
    return b"acct_" + after[:12]


class Lists:
    """Lists that are read one after another."""

    def __init__(self, minimum: int, seen: set[bytes]) -> None:
        self.minimum = minimum
        self.seen = seen
        self.default = b""
        """The currency of lines without one; a list inherits it from the one before."""
        self.new: list[bytes] = []
        """What the current list has added to `seen`."""
        self.totals: dict[bytes, list[int]] = {}
        self.status = 0

    def read(self, name: bytes, data: bytes) -> None:
        """Read one list; deposits and messages go out at once."""
        self.new = []
        for number, line in enumerate(ended_lines(data), 1):
            line = line[:-1] if line.endswith(b"\r") else line
            if not line or line.startswith(b"#"):
                continue
            if line.startswith(b"!end"):
                break
            if line.startswith(b"!currency "):
                self.default = line[len(b"!currency ") :]
                continue
            try:
                say(sys.stdout, self.payment(line))
            except (Refused, Skipped) as error:
                if isinstance(error, Refused):
                    self.status = max(self.status, 1)
                say(sys.stderr, b"%s:%d: %s" % (name, number, error.args[0]))

    def payment(self, line: bytes) -> bytes:
        """The deposit that a line makes. Raises Refused or Skipped."""
        date, given, currency, reference = fields(line)
        if not _DATE.fullmatch(date):
            raise Refused(b"no date: " + date)
        if not _MONTH.match(date):
            raise Refused(b"no month: " + date)
        currency = currency or self.default
        if currency not in PLACES:
            raise Refused(b"unknown currency: " + currency)
        minor = minor_units(given, PLACES[currency])
        account = account_in(reference)
        key = b" ".join((date, minor, currency, reference))
        if key in self.seen:
            raise Skipped(b"seen before: " + reference)
        self.seen.add(key)
        self.new.append(key)
        if int(minor) < self.minimum:
            raise Skipped(b"small: " + given)
        sums = self.totals.setdefault(currency, [0, 0])
        sums[0] += 1
        sums[1] += int(minor)
        return b"deposit %s %s" % (account, minor)


def opened_state(options: Options) -> set[bytes]:
    """What earlier runs have seen; the file is made when it is to be written later."""
    seen: set[bytes] = set()
    if not options.state:
        return seen
    if os.path.isfile(options.state):
        with open(options.state, "rb") as stream:
            seen.update(ended_lines(stream.read()))
    if not options.dry:
        try:
            open(options.state, "ab").close()
        except OSError:
            raise Usage(b"cannot write " + options.state) from None
    return seen


def run(argv: list[bytes]) -> int:
    """Read all lists; returns the exit code. Raises Usage before anything is read."""
    options = parse(argv)
    lists = Lists(int(options.minimum), opened_state(options))
    for name in options.files:
        if not os.path.isfile(name) or not os.access(name, os.R_OK):
            say(sys.stderr, b"bank-lines: cannot read " + name)
            lists.status = 2
            continue
        with open(name, "rb") as stream:
            lists.read(name, stream.read())
        if options.state and not options.dry:
            with open(options.state, "ab") as stream:
                stream.write(b"".join(key + b"\n" for key in lists.new))
    for currency, (count, total) in lists.totals.items():
        say(sys.stdout, b"# %s %d %d" % (currency, count, total))
    return lists.status


def say(stream: object, line: bytes) -> None:
    """Write a line of bytes."""
    stream.buffer.write(line + b"\n")


def main() -> int:
    """Run with the arguments of the command line."""
    try:
        status = run([os.fsencode(word) for word in sys.argv[1:]])
    except Usage as error:
        say(sys.stderr, b"bank-lines: " + error.args[0])
        status = 2
    sys.stdout.buffer.flush()
    sys.stderr.buffer.flush()
    return status


if __name__ == "__main__":
    sys.exit(main())
PY
