set -euo pipefail
cat > shop/takings.py <<'PY'
"""The takings report: `python3 -m shop.takings [-v NAME=VALUE]... [FILE...]`.

It is tools/takings.awk, byte for byte. Text is Latin-1 throughout, so that a character is a byte. Where
awk compares, what looks like a number is compared as one; numbers are floats, as they were there.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterator

NAMES = ("type", "day", "number", "detail", "quantity", "gross", "vat")
LABEL = {"P": "price", "R": "returned", "G": "goodwill"}
_LOOKS_LIKE_A_NUMBER = re.compile(r"[ \t]*[-+]?(\d+\.?\d*|\.\d+)[ \t]*\Z", re.ASCII)
_PREFIX = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)", re.ASCII)


def number(text: str) -> float:
    """What awk makes of a text in arithmetic: the number that it begins with."""
    found = _PREFIX.match(text)
    return float(found[0]) if found else 0.0


def truth(text: str) -> bool:
    """Whether awk takes an option's value for true."""
    return number(text) != 0 if _LOOKS_LIKE_A_NUMBER.match(text) else text != ""


def less(a: str, b: str) -> bool:
    """Whether a comes before b, for awk: as numbers if both look like one, else as texts."""
    if _LOOKS_LIKE_A_NUMBER.match(a) and _LOOKS_LIKE_A_NUMBER.match(b):
        return number(a) < number(b)
    return a < b


def text_of(value: float) -> str:
    """A number as awk puts it into a text."""
    return str(int(value)) if value == int(value) else f"{value:.6g}"


def whole(value: float) -> float:
    """Cut off what comes after the point, keeping the sign of a zero."""
    return math.copysign(math.floor(abs(value)), value)


def cents(text: str) -> float:
    """An amount in cents. Halves of negative amounts are rounded as they always were."""
    return whole(number(text.replace("'", "").replace(",", ".", 1)) * 100 + 0.5)


def amount(value: float) -> str:
    """Cents as an amount."""
    return f"{value / 100:.2f}"


def upper(text: str) -> str:
    """Capitals, for the letters of ASCII."""
    return text.encode("latin-1").upper().decode("latin-1")


def insertion_sort(values: list, later: object) -> None:
    """As it was done there: with days of two kinds the order depends on how one sorts."""
    for i in range(1, len(values)):
        moved, j = values[i], i - 1
        while j >= 0 and later(values[j], moved):
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = moved


def bar(value: float, most: float) -> str:
    """A bar of at most 30 signs."""
    return "#" * int(value / most * 30) if most > 0 else ""


class Day:
    """What is known of a day."""

    def __init__(self) -> None:
        self.orders = 0
        self.net = 0.0
        self.refunds: dict[str, float] = {}
        self.sums: dict[str, float] = {}
        self.tax: dict[str, float] = {}
        self.count: dict[str, float] = {}
        self.off: dict[str, float] = {}


class Takings:
    """Reads lines, and reports."""

    def __init__(self, options: dict[str, str]) -> None:
        self.first, self.last = options.get("from", ""), options.get("to", "")
        self.detail = truth(options.get("detail", ""))
        self.strict = truth(options.get("strict", ""))
        self.columns = {name: place for place, name in enumerate(NAMES)}
        self.days: dict[str, Day] = {}
        self.rates: dict[str, float] = {}
        self.seen: set[str] = set()
        self.orders: set[str] = set()
        self.lines = self.twice = self.rejected = 0
        self.messages: list[str] = []

    def reject(self, why: str) -> None:
        """Leave a line out, and say so."""
        self.rejected += 1
        self.messages.append(f"{self.lines}: {why}\n")

    def read(self, line: str) -> None:
        """Take in one line."""
        self.lines += 1
        line = line.removesuffix("\r")
        if line.startswith("#"):
            self.header(line[1:])
            return
        if not line.strip(" \t"):
            return
        fields = line.split(";")
        if len(fields) < 6:
            self.reject(f"too short: {len(fields)} fields")
            return

        def field(name: str) -> str:
            place = self.columns[name]
            return fields[place] if place < len(fields) else ""

        values = {name: field(name) for name in NAMES}
        values["type"] = upper(values["type"][:1])
        if self.usable(values):
            self.book(values)

    def header(self, text: str) -> None:
        """A line that names the columns gives their order, if it names enough of them."""
        names = [re.sub(r"[ \t]", "", name) for name in text.split(";")] if text else []
        if sum(name in self.columns for name in names) == 7:
            for place, name in enumerate(names):
                if name in self.columns:
                    self.columns[name] = place

    def usable(self, values: dict[str, str]) -> bool:
        """Whether a line counts; what is wrong with it is told."""
        if values["type"] not in ("S", "R"):
            self.reject(f"type {values['type']}")
            return False
        day = values["day"]
        if not re.fullmatch(r"[0-9-]+", day):
            self.reject(f"day {day}")
            return False
        if (self.first and less(day, self.first)) or (self.last and less(self.last, day)):
            return False
        for name, word, pattern in (
            ("gross", "gross", r"[-+0-9.,']+"),
            ("vat", "vat", r"[-+0-9.,']*"),
            ("quantity", "quantity", r"[0-9.]*"),
            ("detail", "rate", r"[0-9.]+" if values["type"] == "S" else r"(?s:.*)"),
        ):
            if not re.fullmatch(pattern, values[name]):
                self.reject(f"{word} {values[name]}")
                return False
        if values["type"] == "S" and values["number"]:
            key = "\x1c".join(values[name] for name in ("number", "detail", "gross", "quantity"))
            if key in self.seen:
                self.twice += 1
                if self.strict:
                    self.reject(f"twice {values['number']}")
                    return False
            self.seen.add(key)
        return True

    def book(self, values: dict[str, str]) -> None:
        """Add a line to its day."""
        day = self.days.setdefault(values["day"], Day())
        gross, vat = cents(values["gross"]), cents(values["vat"])
        if values["type"] == "R":
            name = LABEL.get(upper(values["detail"]), values["detail"][:12])
            day.refunds[name] = day.refunds.get(name, 0.0) + gross
            day.net -= gross
            return
        rate = number(values["detail"])
        key = text_of(rate)
        self.rates.setdefault(key, rate)
        day.sums[key] = day.sums.get(key, 0.0) + gross
        day.tax[key] = day.tax.get(key, 0.0) + vat
        day.count[key] = day.count.get(key, 0.0) + number(values["quantity"])
        day.net += gross
        if values["number"] not in self.orders:
            self.orders.add(values["number"])
            day.orders += 1
        expected = whole(gross * rate / (10000 + rate) + 0.5)
        if expected != vat:
            day.off[key] = day.off.get(key, 0.0) + (vat - expected)

    def report(self) -> Iterator[str]:
        """The lines of the report."""
        names, rates = list(self.days), list(self.rates.values())
        insertion_sort(names, lambda a, b: less(b, a))
        insertion_sort(rates, lambda a, b: a > b)
        most = max([0.0, *(day.net for day in self.days.values())])
        total, orders = 0.0, 0
        for name in names:
            day = self.days[name]
            yield f"{name}  {day.orders} orders\n"
            for rate in rates:
                if text_of(rate) in day.sums:
                    yield self.rate(day, rate)
            for reason, paid in day.refunds.items():
                yield f"  - {reason[:10]:<10}{amount(paid):>26}\n"
            yield f"  = {'net':<10}{amount(day.net):>26} {bar(day.net, most)}\n"
            total += day.net
            orders += day.orders
        yield f"days {len(names)}, orders {orders}, net {amount(total)}\n"
        if orders:
            yield f"per order {text_of(total / orders / 100)}\n"
        if self.twice:
            yield f"{self.twice} lines twice\n"
        if self.rejected:
            yield f"{self.rejected} lines rejected\n"

    def rate(self, day: Day, rate: float) -> str:
        """The line of a rate of VAT."""
        key = text_of(rate)
        line = (
            f"  {text_of(rate / 100) + '%':<8}{text_of(day.count[key]):>6} pcs"
            f" {amount(day.sums[key]):>12}  vat {amount(day.tax[key]):>10}"
        )
        if self.detail and day.count[key] > 0:
            line += f"  each {day.sums[key] / day.count[key] / 100:.2f}"
        if key in day.off:
            line += f"  off by {amount(day.off[key])}"
        return line + "\n"


def lines_of(files: list[str]) -> Iterator[str]:
    """The lines of all files, without what ends them."""
    for name in files or ["-"]:
        if name == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(name, "rb") as stream:
                data = stream.read()
        parts = data.decode("latin-1").split("\n")
        yield from parts if parts[-1] else parts[:-1]


def main(argv: list[str]) -> int:
    """Report on the files; returns the exit code."""
    options = {}
    while len(argv) >= 2 and argv[0] == "-v":
        name, _, value = argv[1].partition("=")
        options[name] = value
        argv = argv[2:]
    if argv and argv[0] == "--":
        argv = argv[1:]
    takings = Takings(options)
    for line in lines_of(argv):
        takings.read(line)
    out = "".join(takings.report()).encode("latin-1")
    sys.stderr.buffer.write("".join(takings.messages).encode("latin-1"))
    sys.stderr.flush()
    sys.stdout.buffer.write(out)
    sys.stdout.flush()
    return 1 if takings.strict and takings.rejected else 0


if __name__ == "__main__":
    sys.exit(main([os.fsdecode(arg) for arg in sys.argv[1:]]))
PY
