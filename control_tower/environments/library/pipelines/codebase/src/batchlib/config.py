"""Where code and data are, and what is set in etc/."""

from __future__ import annotations

import os
import time
from pathlib import Path

CODE = Path(__file__).resolve().parents[1]


def root() -> Path:
    """The folder of the data."""
    return Path(os.environ.get("BATCH_ROOT") or CODE / "var")


def night() -> str:
    """The day that the running job is for; bin/job sets it."""
    return os.environ["NIGHT"]


def setting(name: str) -> str:
    """A value of etc/batch.conf."""
    for line in (CODE / "etc/batch.conf").read_text(encoding="utf-8").splitlines():
        key, sign, value = line.partition("=")
        if sign and key == name:
            return value
    raise KeyError(f"etc/batch.conf has no {name}")


def use_local_time() -> None:
    """Let the functions of `time` take the company's time zone."""
    os.environ["TZ"] = setting("TIMEZONE")
    time.tzset()


def table(name: str) -> list[dict[str, str]]:
    """The rows of a table in etc/, such as partners.csv."""
    lines = (CODE / "etc" / name).read_text(encoding="utf-8").splitlines()
    fields = lines[0].split(";")
    return [dict(zip(fields, line.split(";"))) for line in lines[1:] if line]


def partners() -> list[str]:
    """The names of all partners, in order."""
    return sorted({row["partner"] for row in table("partners.csv")})


def partner_terms(partner: str, day: str) -> dict[str, str]:
    """The row of partners.csv that holds for a partner on a day."""
    rows = [r for r in table("partners.csv") if r["partner"] == partner and r["valid_from"] <= day]
    return max(rows, key=lambda row: row["valid_from"])
