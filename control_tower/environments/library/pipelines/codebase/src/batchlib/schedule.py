"""The crontab: what is due at a minute, and how it is run. docs/cron.md."""

from __future__ import annotations

import os
import subprocess
import time
from calendar import timegm
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from batchlib import config

CRONTAB = config.CODE / "etc/crontab"
_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


@dataclass(frozen=True)
class Entry:
    """A line of the crontab."""

    when: tuple[frozenset[int], ...]
    text: str
    command: str

    def due(self, at: datetime) -> bool:
        """Whether it is to run in this minute. Day and weekday must both fit."""
        weekday = at.isoweekday() % 7
        minute, hour, day, month, weekdays = self.when
        if weekday not in weekdays and not (weekday == 0 and 7 in weekdays):
            return False
        return at.minute in minute and at.hour in hour and at.day in day and at.month in month


def parse(line: str) -> Entry:
    """Read a line; ValueError if it is none."""
    parts = line.split(None, 5)
    if len(parts) != 6:
        raise ValueError(f"not an entry: {line}")
    when = tuple(_numbers(part, *span) for part, span in zip(parts, _RANGES))
    return Entry(when, " ".join(parts[:5]), parts[5])


def _numbers(text: str, least: int, most: int) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if span == "*":
            begin, end = least, most
        else:
            begin, end = int(first), int(last or first)
        if not least <= begin <= end <= most:
            raise ValueError(f"out of range: {text}")
        found.update(range(begin, end + 1, int(step or 1)))
    return frozenset(found)


def entries(path: Path = CRONTAB) -> list[Entry]:
    """All entries of a crontab."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [parse(line) for line in lines if line.strip() and not line.lstrip().startswith("#")]


def environment(at: datetime) -> dict[str, str]:
    """The environment of a command that cron runs in a minute of local time."""
    config.use_local_time()
    utc = time.gmtime(time.mktime(at.timetuple()))
    return {
        **os.environ,
        "BATCH_ROOT": str(config.root()),
        "BATCH_NOW": time.strftime("%Y-%m-%dT%H:%M:%SZ", utc),
    }


def run_due(at: datetime) -> list[Entry]:
    """Run what is due in a minute, one after the other; each leaves a line in cron.log."""
    ran = []
    for entry in entries():
        if not entry.due(at):
            continue
        stamp = environment(at)["BATCH_NOW"]
        log = config.root() / "log/cron.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with (config.root() / "log/cron.out").open("ab") as out:
            done = subprocess.run(
                ["bash", "-c", entry.command],
                cwd=config.CODE,
                env=environment(at),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                check=False,
            )
        with log.open("a", encoding="utf-8") as stream:
            stream.write(f"{stamp} exit={done.returncode} {entry.command}\n")
        ran.append(entry)
    return ran


class Clock:
    """A clock that starts at a given local time and runs on from there."""

    def __init__(self, start: str) -> None:
        config.use_local_time()
        moment = datetime.strptime(start, "%Y-%m-%d %H:%M")
        self._ahead = timegm(moment.timetuple()) - time.monotonic()

    def minute(self) -> datetime:
        """The minute that it is."""
        seconds = time.monotonic() + self._ahead
        return datetime(*time.gmtime(seconds)[:5])
