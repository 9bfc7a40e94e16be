set -euo pipefail
cat > jobs/weblog.py <<'PY'
"""The figures of one shop's web log of one day. docs/weblog.md.

    python3 jobs/weblog.py SHOP DAY GAP TOP FILE...

It does what an awk program did before, odd lines included: texts are bytes, and what is read as a number is
what the text begins with.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict

_NUMBER = re.compile(rb"[ \t]*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")
_MONTHS = b"JanFebMarAprMayJunJulAugSepOctNovDec"
_CRAWLER = re.compile(rb"bot|crawl|spider")
_ASSET = re.compile(rb"\.(css|js|png|ico|svg)\Z")
_CAMPAIGN = re.compile(rb"[?&]c=([a-z0-9_]+)")
_OURS = re.compile(rb"(\A|\.)fennmoor\.")
_SKIPPED = re.compile(rb"[ \t]*(#|\Z)")


def number(text: bytes) -> float:
    """What a text begins with, as a number; 0 if it is none."""
    match = _NUMBER.match(text)
    return float(match[1]) if match else 0.0


def words(text: bytes) -> list[bytes]:
    """The words between blanks."""
    return [word for word in re.split(rb"[ \t]+", text) if word]


class Figures:
    """What is counted."""

    def __init__(self, day: bytes, gap: float) -> None:
        self.day, self.gap = day, gap
        self.lines = self.bad = self.other = self.crawlers = 0
        self.hits = self.bytes = self.pages = 0
        self.classes: dict[bytes, int] = defaultdict(int)
        self.hours: dict[float, int] = defaultdict(int)
        self.seen: dict[bytes, int] = defaultdict(int)
        self.hosts: dict[bytes, int] = defaultdict(int)
        self.campaigns: dict[bytes, int] = defaultdict(int)
        self.last: dict[bytes, float] = {}
        self.visit: dict[bytes, int] = {}
        self.began: list[float] = []
        self.ended: list[float] = []
        self.depth: list[int] = []

    def take(self, line: bytes) -> None:
        """Count a line."""
        self.lines += 1
        if line.endswith(b"\r"):
            line = line[:-1]
        if _SKIPPED.match(line):
            return
        quoted = line.split(b'"')
        if len(quoted) < 7:
            self.bad += 1
            return
        fields = words(line)
        when = fields[3] if len(fields) > 3 else b""
        month = (_index(when[4:7]) + 2) / 3
        date = "%04d-%02d-%02d" % (number(when[8:12]), month, number(when[1:3]))
        if date.encode() != self.day:
            self.other += 1
            return
        hour = number(when[13:15])
        time = hour * 3600 + number(when[16:18]) * 60 + number(when[19:21])
        agent = quoted[5]
        if _CRAWLER.search(agent.lower()) or agent == b"-":
            self.crawlers += 1
            return
        if self._hit(hour, words(quoted[2])):
            self._page(fields[0], agent, time, words(quoted[1]), quoted[3])

    def _hit(self, hour: float, answer: list[bytes]) -> bool:
        status, size = [*answer, b"", b""][:2]
        kind = status[:1] + b"xx" if re.fullmatch(rb"[1-5][0-9][0-9]", status) else b"odd"
        self.classes[kind] += 1
        self.hits += 1
        self.hours[hour] += 1
        if re.fullmatch(rb"[0-9]+", size):
            self.bytes += int(size[:9])
        return kind not in (b"4xx", b"5xx")

    def _page(self, address: bytes, agent: bytes, time: float, request: list[bytes], site: bytes) -> None:
        path = request[1] if len(request) > 1 else [*request, b""][0]
        campaign = _CAMPAIGN.search(path)
        path = re.sub(rb"[?#].*\Z", b"", path, count=1, flags=re.DOTALL)
        path = re.sub(rb"/index\.html?\Z", b"", path, count=1)
        path = path.rstrip(b"/") or b"/"
        if _ASSET.search(path.lower()):
            return
        self.pages += 1
        self.seen[path] += 1
        visitor = address + b" " + agent
        if visitor not in self.last or time - self.last[visitor] > self.gap:
            self.visit[visitor] = len(self.began)
            self.began.append(time)
            self.ended.append(0.0)
            self.depth.append(0)
            if campaign:
                self.campaigns[campaign[1]] += 1
            parts = site.split(b"/")
            host = parts[2].lower() if len(parts) > 2 else b"direct"
            host = host[4:] if host.startswith(b"www.") else host
            if not _OURS.search(host):
                self.hosts[host] += 1
        self.last[visitor] = time
        visit = self.visit[visitor]
        self.ended[visit] = max(self.ended[visit], time)
        self.depth[visit] += 1

    def show(self, shop: bytes, top: int) -> bytes:
        """All figures, as lines."""
        visits = len(self.began)
        bounces = self.depth.count(1)
        lines = [
            b"shop;%s;%s" % (shop, self.day),
            b"lines;%d;%d;%d;%d" % (self.lines, self.bad, self.other, self.crawlers),
            b"hits;%d;%d;%d" % (self.hits, self.bytes, self.pages),
            b"visits;%d;%d" % (visits, bounces),
        ]
        if visits:
            spent = 0.0
            for began, ended in zip(self.began, self.ended):
                spent += ended - began
            means = (100 * bounces / visits, spent / visits, self.pages / visits)
            lines[-1] += b";%.1f;%.1f;%.2f" % means
        for kind in (b"1xx", b"2xx", b"3xx", b"4xx", b"5xx", b"odd"):
            if kind in self.classes:
                lines.append(b"class;%s;%d" % (kind, self.classes[kind]))
        lines += [b"hour;%02d;%d" % (h, self.hours[h]) for h in range(24) if h in self.hours]
        for what, counts, whole in (
            (b"page", self.seen, self.pages),
            (b"from", self.hosts, visits),
            (b"campaign", self.campaigns, visits),
        ):
            lines += _list(what, counts, whole, top)
        return b"".join(line + b"\n" for line in lines)


def _index(text: bytes) -> int:
    """Where a text is in the months, from 1; 0 if nowhere. An empty text is nowhere."""
    return _MONTHS.find(text) + 1 if text else 0


def _list(what: bytes, counts: dict[bytes, int], whole: int, top: int) -> list[bytes]:
    """The most frequent ones, and who is as frequent as the last of them."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    # With a top of 0, awk compared the first with what had no name.
    lines, place, before = [], 0, counts.get(b"")
    for position, (name, count) in enumerate(ranked, 1):
        if position > top and count != before:
            break
        if position == 1 or count != before:
            place, before = position, count
        shown = name[:37] + b"..." if len(name) > 40 else name
        lines.append(b"%s;%d;%d;%.1f;%s" % (what, place, count, 100 * count / whole, shown))
    return lines


def main(argv: list[str]) -> None:
    """Read the logs and put out the figures."""
    shop, day, gap, top, *names = argv
    figures = Figures(day.encode(), float(gap or 1800))
    for name in names:
        with open(name, "rb") as stream:
            data = stream.read()
        for line in data.removesuffix(b"\n").split(b"\n") if data else ():
            figures.take(line)
    sys.stdout.buffer.write(figures.show(shop.encode(), int(top or 5)))


if __name__ == "__main__":
    main(sys.argv[1:])
PY
