"""The settings of shop.conf, and what the environment puts in their place."""

from __future__ import annotations

import configparser
import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Config:
    """All settings. Amounts are in cents, times in the unit of the name."""

    database: str
    host: str
    port: int
    var: Path
    psp_url: str
    psp_key: str
    psp_timeout: float
    price_hold_minutes: int
    shipping_cents: int
    free_shipping_from_cents: int
    support_refund_limit_cents: int

    @property
    def pid_file(self) -> Path:
        """Where the running server says who it is."""
        return self.var / "shop.pid"

    @property
    def base_url(self) -> str:
        """Where the pages are."""
        return f"http://{self.host}:{self.port}"


def load(path: Path | None = None) -> Config:
    """Read shop.conf. Raises an error that names what is missing."""
    parser = configparser.ConfigParser(interpolation=None)
    with open(path or ROOT / "shop.conf", encoding="utf-8") as stream:
        parser.read_file(stream)
    env = os.environ.get
    return Config(
        database=env("SHOP_DATABASE") or parser.get("database", "url"),
        host=parser.get("server", "host"),
        port=int(env("SHOP_PORT") or parser.get("server", "port")),
        var=ROOT / (env("SHOP_VAR") or parser.get("server", "var")),
        psp_url=env("SHOP_PSP") or parser.get("payments", "url"),
        psp_key=parser.get("payments", "key"),
        psp_timeout=parser.getfloat("payments", "timeout"),
        price_hold_minutes=parser.getint("shop", "price_hold_minutes"),
        shipping_cents=parser.getint("shop", "shipping_cents"),
        free_shipping_from_cents=parser.getint("shop", "free_shipping_from_cents"),
        support_refund_limit_cents=parser.getint("shop", "support_refund_limit_cents"),
    )
