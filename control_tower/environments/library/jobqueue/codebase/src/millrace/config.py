"""The settings: `millrace.conf`, or the file that `MILLRACE_CONF` names."""

from __future__ import annotations

import configparser
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """What each setting means."""

    redis_host: str
    redis_port: int
    redis_db: int
    redis_password: str
    http_host: str
    http_port: int
    label: str
    """Shown by /health, so that one can tell which deployment answers."""
    admin_token: str
    workers: int
    """How many worker processes the supervisor keeps."""
    lease_ms: int
    """How long a job belongs to the worker that took it; after that it is given to another one."""
    poll_seconds: float
    """How long a worker with nothing to do waits before it asks again."""
    tick_seconds: float
    """How often the scheduler looks for what is due."""
    max_attempts: int
    """How often a job is tried, unless the job says otherwise."""
    retry_base_seconds: float
    retry_most_seconds: float
    hook_timeout: float
    """How long a receiver may take to answer a webhook, in seconds."""
    out: Path
    run: Path
    log: Path


def load(path: str | None = None) -> Settings:
    """Read the settings; raises KeyError or ValueError for what is missing or malformed."""
    parser = configparser.ConfigParser()
    file = Path(path or os.environ.get("MILLRACE_CONF", "millrace.conf"))
    with file.open(encoding="utf-8") as stream:
        parser.read_file(stream)
    return Settings(
        redis_host=parser["redis"]["host"],
        redis_port=int(parser["redis"]["port"]),
        redis_db=int(parser["redis"]["db"]),
        redis_password=Path(parser["redis"]["password_file"]).read_text(encoding="utf-8").strip(),
        http_host=parser["http"]["host"],
        http_port=int(parser["http"]["port"]),
        label=parser["http"]["label"],
        admin_token=_variable(Path(parser["http"]["admin_token_file"]), "ADMIN_TOKEN"),
        workers=int(parser["workers"]["count"]),
        lease_ms=round(float(parser["workers"]["lease_seconds"]) * 1000),
        poll_seconds=float(parser["workers"]["poll_seconds"]),
        tick_seconds=float(parser["scheduler"]["tick_seconds"]),
        max_attempts=int(parser["retries"]["max_attempts"]),
        retry_base_seconds=float(parser["retries"]["base_seconds"]),
        retry_most_seconds=float(parser["retries"]["most_seconds"]),
        hook_timeout=float(parser["hooks"]["timeout_seconds"]),
        out=Path(parser["paths"]["out"]),
        run=Path(parser["paths"]["run"]),
        log=Path(parser["paths"]["log"]),
    )


def _variable(file: Path, name: str) -> str:
    for line in file.read_text(encoding="utf-8").splitlines():
        key, _, value = line.partition("=")
        if key == name:
            return value
    raise ValueError(f"{file} has no {name}")
