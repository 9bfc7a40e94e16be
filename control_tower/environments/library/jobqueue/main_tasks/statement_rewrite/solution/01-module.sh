set -euo pipefail
cat > millrace/statement.py <<'PY'
"""What the tenants have used, from logs of the workers.

Once a shell and awk script, whose results are kept byte for byte: texts are bytes throughout, awk's
rules of comparing and of printing numbers are applied by hand. `python3 -m millrace.statement`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

USAGE = "usage: statement.sh [-s] [-m YYYY-MM] [-t TENANT] [-p PRICES] LOG..."
FIELDS = (b"tenant", b"kind", b"job", b"state", b"ms")
MOST = 2**31 - 1
"""What is more, our awk's `%d` cannot print."""
OUTCOMES = (b"done", b"failed", b"delayed")
_BLANKS = re.compile(rb"[ \t]+")
_DIGITS = re.compile(rb"[0-9]+")
_MONTH = re.compile(rb"[0-9]{4}-[0-9]{2}")


class Wrong(Exception):
    """Arguments that cannot be used."""


def tell(text: bytes) -> None:
    """A line on standard error."""
    sys.stderr.buffer.write(text + b"\n")


def split(line: bytes) -> list[bytes]:
    """As awk splits a line: at blanks, tabs and nothing else."""
    return [part for part in _BLANKS.split(line) if part]


def lines(file: bytes) -> list[bytes]:
    """The lines of a file; the last one may lack its end."""
    with open(file, "rb") as stream:
        found = stream.read().split(b"\n")
    if found[-1] == b"":
        found.pop()
    return found


def options(argv: list[bytes]) -> tuple[dict[bytes, bytes], list[bytes]]:
    """As getopts reads them."""
    found, rest = {b"s": b"", b"m": b"", b"t": b"", b"p": b"tools/prices.txt"}, list(argv)
    while rest and rest[0].startswith(b"-") and rest[0] != b"-":
        word = rest.pop(0)[1:]
        if word == b"-":
            break
        while word:
            letter, word = word[:1], word[1:]
            if letter == b"s":
                found[b"s"] = b"1"
            elif letter in (b"m", b"t", b"p"):
                if not word and not rest:
                    raise Wrong(b"-" + letter + b" needs a value")
                found[letter] = word or rest.pop(0)
                break
            else:
                raise Wrong(b"no such option: -" + letter)
    if not rest:
        raise Wrong(b"no log")
    if found[b"m"] and not _MONTH.fullmatch(found[b"m"]):
        raise Wrong(b"not a month: " + found[b"m"])
    if not os.path.isfile(found[b"p"]):
        raise Wrong(b"no prices: " + found[b"p"])
    return found, rest


def values(parts: list[bytes]) -> list[bytes]:
    """The first value of each field that matters."""
    found: dict[bytes, bytes] = {}
    for part in parts[3:]:
        name, equals, value = part.partition(b"=")
        if equals:
            found.setdefault(name, value)
    return [found.get(name, b"") for name in FIELDS]


def runs(file: bytes, month: bytes, tenant: bytes) -> tuple[list[tuple], bool]:
    """The runs in a log, and whether all of it was understood."""
    found, good = [], True
    for number, line in enumerate(lines(file), 1):
        parts = split(line)
        if len(parts) < 3 or parts[2] != b"end" or (month and parts[0][:7] != month):
            continue
        who, kind, job, state, ms = values(parts)
        if tenant and who != tenant:
            continue
        if not who or not kind or not job or not _DIGITS.fullmatch(ms) or b"|" in line:
            tell(b"statement: %s, line %d: not understood" % (file, number))
            good = False
        elif state in OUTCOMES:
            found.append((who, kind, job, parts[0], state, ms))
    return found, good


def same_field(one: bytes | None, other: bytes) -> bool:
    """Whether two fields are equal for awk, to which plain digits are numbers."""
    if one is None:
        return False
    if _DIGITS.fullmatch(one) and _DIGITS.fullmatch(other):
        return float(one) == float(other)
    return one == other


def read_prices(file: bytes) -> dict[bytes, tuple[float, float, float]]:
    """Unit, price and free units of each kind."""
    found = {}
    for line in lines(file):
        parts = _BLANKS.split(line.split(b"#")[0])
        if len(parts) >= 4 and parts[0]:
            found[parts[0]] = tuple(number(part) for part in parts[1:4])
    return found


def number(text: bytes) -> float:
    """A decimal number; what is none is 0."""
    match = re.match(rb"[0-9]*\.?[0-9]*", text)
    piece = match.group() if match else b""
    return float(piece) if piece.strip(b".") else 0.0


def groups(rows: list[tuple], column: int) -> Iterator[tuple[bytes, list[tuple]]]:
    """Neighbours whose fields are equal, under the name of the first."""
    last: list[tuple] = []
    for row in rows:
        if last and not same_field(last[0][column], row[column]):
            yield last[0][column], last
            last = []
        last.append(row)
    if last:
        yield last[0][column], last


def shown(value: float) -> bytes:
    """As our awk prints a number: whole ones in full, as long as they fit into 31 bits."""
    return b"%d" % value if value == int(value) and value <= MOST else b"%.6g" % value


class Statement:
    """Writes the lines, tenant by tenant."""

    def __init__(self, prices: dict, sums_only: bool) -> None:
        self.prices = prices
        self.sums_only = sums_only
        self.good = True
        self.out: list[bytes] = []

    def tenant(self, rows: list[tuple]) -> None:
        """All lines of a tenant."""
        who, jobs, total, busy = rows[0][0], 0, 0.0, 0.0
        for _, of_kind in groups(rows, 1):
            count, amount = self.kind(who, of_kind)
            jobs += count
            total += amount
        for row in rows:
            busy += float(row[5])
        mean = shown(busy / len(rows))
        self.out.append(
            b"%-20s %-10s %6d %5s %6s %8s %10.2f %7s\n"
            % (who, b"total", jobs, b"", b"", b"", total, mean)
        )

    def kind(self, who: bytes, rows: list[tuple]) -> tuple[int, float]:
        """The line of a kind; returns how many jobs, and the amount."""
        kind, last, slowest = rows[0][1], None, b""
        jobs = again = failed = 0
        units, amount, text = 0.0, 0.0, b"-"
        size, price, free = self.prices.get(kind, (1000.0, 0.0, 0.0))
        for _, _, job, _, state, ms in rows:
            failed += state == b"failed"
            if state != b"done":
                continue
            if same_field(last, job):
                again += 1
                continue
            last = job
            jobs += 1
            units += max(1, int((float(ms) + size - 1) / size))
            if slowest == b"" or ms > slowest:
                slowest = ms  # as texts: that is how it was
        if kind in self.prices:
            amount = max(0.0, units - free) * price / 100
            text = b"%.2f" % amount
        else:
            tell(b"statement: %s: no price for %s" % (who, kind))
            self.good = False
        if not self.sums_only:
            self.out.append(
                b"%-20s %-10s %6d %5d %6d %8d %10s %7s\n"
                % (who, kind, jobs, again, failed, min(units, MOST), text, slowest)
            )
        return jobs, amount


def main(argv: list[bytes]) -> int:
    """Returns the exit code."""
    try:
        chosen, files = options(argv)
    except Wrong as error:
        tell(b"statement: " + error.args[0])
        tell(USAGE.encode())
        return 2
    rows, good = [], True
    for file in files:
        if not os.path.isfile(file):
            tell(b"statement: no such log: " + file)
            good = False
            continue
        found, understood = runs(file, chosen[b"m"], chosen[b"t"])
        rows += found
        good &= understood
    rows.sort(key=lambda row: (*row[:4], b"|".join(row)))
    statement = Statement(read_prices(chosen[b"p"]), bool(chosen[b"s"]))
    for _, of_tenant in groups(rows, 0):
        statement.tenant(of_tenant)
    sys.stdout.buffer.write(b"".join(statement.out))
    sys.stdout.flush()
    return 0 if good and statement.good else 1


if __name__ == "__main__":
    sys.exit(main([os.fsencode(word) for word in sys.argv[1:]]))
PY
