"""Settings, read once from an INI file.

Paths in the file are relative to the folder the file is in, so a copy of the code base carries its
own database, log and secrets. `LEDGER_CONFIG` names another file (the tests use this).
"""

from __future__ import annotations

import configparser
import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Config:
    """Everything that may differ between two deployments."""

    host: str
    port: int
    """0 lets the system choose (tests)."""
    database: Path
    pid_file: Path
    log_file: Path
    log_level: str
    pii_key_file: Path
    seed_dir: Path
    page_default: int
    page_max: int
    min_capture: int
    """Smallest capture of a hold, in minor units."""
    settlement_cutoff: str
    """When a business day ends, `HH:MM` in UTC. See docs/settlement-files.md."""

    @property
    def base_url(self) -> str:
        """Where the API of this deployment answers."""
        return f"http://{self.host}:{self.port}"


def load(path: Path | str | None = None) -> Config:
    """Read the configuration.

    Raises FileNotFoundError when the file is missing and configparser.Error or ValueError when it
    cannot be understood: a ledger must not start on guessed settings.
    """
    source = Path(path or os.environ.get("LEDGER_CONFIG") or ROOT / "ledger.conf").resolve()
    parser = configparser.ConfigParser()
    with source.open(encoding="utf-8") as stream:
        parser.read_file(stream)

    def located(section: str, key: str) -> Path:
        return (source.parent / parser.get(section, key)).resolve()

    return Config(
        host=parser.get("server", "host"),
        port=parser.getint("server", "port"),
        database=located("storage", "database"),
        pid_file=located("server", "pid_file"),
        log_file=located("logging", "file"),
        log_level=parser.get("logging", "level").upper(),
        pii_key_file=located("pii", "key_file"),
        seed_dir=located("storage", "seed_dir"),
        page_default=parser.getint("api", "page_default"),
        page_max=parser.getint("api", "page_max"),
        min_capture=parser.getint("holds", "min_capture"),
        settlement_cutoff=parser.get("settlement", "cutoff"),
    )
